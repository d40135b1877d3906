"""The target plan of a tensor: the points that each equation writes, by first match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.indexed_tensor import Placement, TargetPlan
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.errors import domains as domain_errors, lengths as ending_errors
from tempoc.frontend.expressions.index_expressions import condition, entry_name, index
from tempoc.frontend.syntax import ast
from tempoc.poly.relations import syntactic as fast
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, disjuncts
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import substitute, symbols

WrittenTarget = tuple[ast.Equation, ast.EquationTarget]


@dataclass(frozen=True, slots=True, eq=False)
class _Target:
    """A target with its entries evaluated; `dims` has the dimension of each, if it has one."""

    equation: ast.Equation
    target: ast.EquationTarget
    entries: tuple[ix.Expr, ...]
    dims: tuple[str | None, ...]
    names: tuple[str, ...] | None


def make_plan(
    round: Round, frame: Frame, name: str, written: tuple[WrittenTarget, ...]
) -> TargetPlan:
    """The plan of a tensor; errors are in its `problems`. Raises `StillUnknown`."""
    problems: list[Diagnostic] = []
    targets: list[_Target] = []
    dims: tuple[str, ...] | None = None
    for eq, place in written:
        try:
            targets.append(_evaluated(round, frame, eq, place))
        except Failure as problem:
            problems.append(problem.diagnostic)
    if targets:
        clashes, dims = _dimensions(round, name, targets, complete=not problems)
        problems += clashes
    if dims is None:
        return TargetPlan(name=name, dims=(), placements=(), broken=True, problems=tuple(problems))
    placements: list[Placement] = []
    covered: ix.Expr = ix.FALSE
    box = Domain(dims)
    broken = bool(problems)
    for number, target in enumerate(targets):
        try:
            with round.blaming(target.equation.span):
                placement, claimed = _place(round, frame, number, target, dims, covered)
        except Failure as problem:
            problems.append(problem.diagnostic)
            broken = True
            continue
        if placement.used == ix.FALSE:
            shown, span = target.target.name.name, target.equation.span
            above = covered != ix.FALSE and placement.claimed != ix.FALSE
            problems.append(domain_errors.unreachable(span, shown, above))
        wrong_lengths = _lengths(round, frame, name, target, placement)
        if wrong_lengths is not None:
            problems.append(wrong_lengths)
            broken = True
        placements.append(placement)
        covered = round.space.symbolic.either(covered, claimed, box)
    # Nowhere defined: whoever reads it says nothing new.
    broken = broken or all(p.used == ix.FALSE for p in placements)
    first = targets[0]
    positions = zip(first.names or dims, first.entries, strict=True)
    plain = len(targets) == 1 and all(e == ix.Sym(d) for d, e in positions)
    return TargetPlan(
        name=name,
        dims=dims,
        placements=tuple(placements),
        where=covered,
        merges=not plain,
        broken=broken,
        problems=tuple(problems),
    )


def _evaluated(round: Round, frame: Frame, eq: ast.Equation, target: ast.EquationTarget) -> _Target:
    entries: list[ix.Expr] = []
    dims: list[str | None] = []
    names: list[str] = []
    for entry in target.entries or ():
        assert not isinstance(entry.value, (ast.SliceExpr, ast.DataPoint))
        e = index(round, frame, entry.value)
        named = [n for n in symbols(e) if round.universe.is_dim(n)]
        if entry.name is not None:
            names.append(entry_name(round, frame, entry.name))
        shifted = e == ix.Sym(named[0]) or _is_shift(e, named[0]) if named else False
        if named and not shifted:
            raise Failure(domain_errors.target_entry(entry.value.span, entry.value.span.text))
        entries.append(e)
        dims.append(named[0] if named else None)
    return _Target(eq, target, tuple(entries), tuple(dims), tuple(names) if names else None)


def _is_shift(e: ix.Expr, dim: str) -> bool:
    return isinstance(e, ix.IndexSum) and e.terms == ((1, ix.Sym(dim)),)


def _dimensions(
    round: Round, name: str, targets: list[_Target], *, complete: bool
) -> tuple[list[Diagnostic], tuple[str, ...] | None]:
    """The conflicts between targets, and the tensor's dimensions; None if they are unclear.

    Positions without a dimension are reported only if the targets are `complete`.
    """
    if any(t.names is not None for t in targets):
        problems, dims = _keyword_dimensions(round, name, targets)
        missing = [d for d in dims if all(d not in t.dims for t in targets)]
        places = [(targets[0].target.span, d) for d in missing]
    else:
        problems, positions = _positions(name, targets)
        dims = tuple(d for d in positions if d is not None)
        entries = targets[0].target.entries or ()
        spans = [e.span for e, d in zip(entries, positions, strict=True) if d is None]
        places = [(span, span.text) for span in spans]
    if problems or (not complete and places):
        return problems, None
    if places:
        span, text = places[0]
        dim = round.universe.dims[0].name if round.universe.dims else "t"
        dim = text if round.universe.is_dim(text) else dim  # named by a keyword
        return [domain_errors.constant_position(span, text, name, dim)], None
    expected = round.universe.sorted(dims)
    if dims != expected:
        shown = next((t for t in targets if None not in t.dims), targets[0])
        texts = [e.span.text for e in shown.target.entries or ()]
        written = {d: text for d, text in zip(shown.dims, texts, strict=False) if d is not None}
        error = domain_errors.target_order(shown.target.span, name, dims, expected, written)
        return [error], None
    return [], dims


def _positions(
    name: str, targets: list[_Target]
) -> tuple[list[Diagnostic], tuple[str | None, ...]]:
    """The conflicts between positional targets, and the dimension of each position."""
    problems: list[Diagnostic] = []
    first = targets[0]
    known: list[tuple[str, _Target] | None] = [None] * len(first.entries)
    for t in targets:
        span = t.target.span
        if len(t.entries) != len(known):
            counts = len(known), len(t.entries)
            problems.append(domain_errors.target_counts(span, name, *counts, first.target.span))
            continue
        for k, dim in enumerate(t.dims):
            other = known[k]
            if dim is not None and other is None:
                known[k] = (dim, t)
            elif dim is not None and other is not None and other[0] != dim:
                clash = name, other[0], dim, other[1].target.span
                problems.append(domain_errors.target_clash(span, *clash))
                break
    return problems, tuple(None if k is None else k[0] for k in known)


def _keyword_dimensions(
    round: Round, name: str, targets: list[_Target]
) -> tuple[list[Diagnostic], tuple[str, ...]]:
    """The same with keyword entries; the dimensions are those that any target names."""
    problems: list[Diagnostic] = []
    names: dict[str, None] = {}
    for t in targets:
        names.update(dict.fromkeys(t.names if t.names is not None else filter(None, t.dims)))
    dims = round.universe.sorted(tuple(names))
    full = [t.target.span for t in targets if len(t.entries) == len(dims)]
    for t in targets:
        span = t.target.span
        if len(t.entries) != len(dims):
            if full:
                counts = len(dims), len(t.entries)
                problems.append(domain_errors.target_counts(span, name, *counts, full[0]))
            else:
                other = next(u for u in targets if u is not t)
                clash = name, _dims_text(other), _dims_text(t), other.target.span
                problems.append(domain_errors.target_clash(span, *clash))
            continue
        for dim, own, e in zip(t.names or dims, t.dims, t.entries, strict=True):
            if own is not None and own != dim:
                problems.append(domain_errors.target_entry(span, show(e)))
                break
    return problems, dims


def _dims_text(target: _Target) -> str:
    """The dimensions that a target names."""
    return ", ".join(target.names or filter(None, target.dims))


def _place(
    round: Round,
    frame: Frame,
    number: int,
    target: _Target,
    dims: tuple[str, ...],
    covered: ix.Expr,
) -> tuple[Placement, ix.Expr]:
    """The placement of one equation, and the points it claims; ``covered`` are claimed already."""
    entries = dict(zip(target.names or dims, target.entries, strict=True))
    own = round.universe.sorted(tuple(d for d in target.dims if d is not None))
    guard = _guard(round, frame, target, own)
    parts = [substitute(guard, _inverse(entries, own))]
    for dim in dims:
        e = entries[dim]
        if dim not in own:
            parts.append(ix.compare("==", ix.Sym(dim), e))
        elif e != ix.Sym(dim):
            source = _inverse(entries, own)[dim]
            parts.append(ix.compare(">=", source, ix.Const(0)))
            parts.append(ix.compare("<", source, ix.Sym(round.universe.dim(dim).bound)))
    box = Domain(dims)
    claimed = round.space.symbolic.simplify(ix.conjunction(*parts), box)
    above = (c for c in disjuncts(covered) if not fast.are_apart(c, claimed))
    uncovered = ix.negation(ix.disjunction(*above))
    used = claimed
    if not round.space.symbolic.implies(Domain(dims, claimed), uncovered):
        used = round.space.symbolic.simplify(ix.conjunction(claimed, uncovered), box)
    local = round.space.symbolic.simplify(substitute(used, entries), Domain(own))
    if any(entries[d] != ix.Sym(d) for d in dims):
        inside = [_inside(round, d, entries[d]) for d in dims]
        local = round.space.symbolic.simplify(
            ix.conjunction(substitute(used, entries), *inside), Domain(own)
        )
    placement = Placement(
        number=number,
        equation=target.equation,
        target=target.target,
        entries=entries,
        dims=own,
        used=used,
        claimed=claimed,
        local=local,
    )
    return placement, claimed


def _lengths(
    round: Round, frame: Frame, name: str, target: _Target, placement: Placement
) -> Diagnostic | None:
    """The error of a target over a dimension whose length varies; None if there is none."""
    dims, universe, span = placement.entries, round.universe, target.target.span
    for dim, e in dims.items():
        outer = universe.outer(dim)
        missing = tuple(d for d in outer if d not in dims)
        if missing and frame.scope.body().kind == "module":
            suggestion = ", ".join(universe.sorted((*dims, *outer)))
            return ending_errors.target_without(
                span, name, dim, outer, f"{name}[{suggestion}] = ..."
            )
        shifted = [d for d in outer if d in dims and dims[d] != ix.Sym(d)]
        if shifted and e != ix.Const(0):
            bound, at = universe.dim(dim).bound, dims[shifted[0]]
            fixed = not any(universe.is_dim(n) for n in symbols(at))
            suggestion = f"{name}[{', '.join(dims)}] = ... when {shifted[0]} == {show(at)}"
            return ending_errors.other_length(
                span, span.text, bound, shifted[0], suggestion if fixed else None
            )
    return None


def _inside(round: Round, dim: str, e: ix.Expr) -> ix.Expr:
    bound = ix.Sym(round.universe.dim(dim).bound)
    return ix.conjunction(ix.compare(">=", e, ix.Const(0)), ix.compare("<", e, bound))


def _inverse(entries: Mapping[str, ix.Expr], own: tuple[str, ...]) -> dict[str, ix.Expr]:
    """The equation's dimensions in terms of the tensor's."""
    return {d: ix.sub(ix.Sym(d), ix.sub(entries[d], ix.Sym(d))) for d in own}


def _guard(round: Round, frame: Frame, target: _Target, own: tuple[str, ...]) -> ix.Expr:
    if target.equation.guard is None:
        return ix.TRUE
    guard = condition(round, frame, target.equation.guard, "a guard")
    for name in symbols(guard):
        if round.universe.is_dim(name) and name not in own:
            raise Failure(domain_errors.free_in_guard(target.equation.guard.span, name))
    return guard
