"""Proves that every access is in bounds: inside of its source's domain, for all bounds.

A failed proof is reported with a witness, the smallest bounds and the first point at which the
access is out of bounds.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tempoc.diagnostics.diagnostic import Collector, Diagnostic
from tempoc.frontend.declarations.outputs import OutputRead
from tempoc.frontend.domains.demand import sink_of
from tempoc.frontend.environment.draft_node import Draft, Wire
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, Placement
from tempoc.frontend.environment.round import Round, call_sites
from tempoc.frontend.errors import (
    accesses as access_errors,
    domains as domain_errors,
    lengths as ending_errors,
    names as name_errors,
)
from tempoc.ops.control.gradient import Gradient
from tempoc.ops.control.until import Until
from tempoc.ops.tensor.source import Input, Param
from tempoc.poly.relations.run_lengths import outside_elsewhere
from tempoc.poly.relations.space import OutsideRead
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, symbols

Holes = dict[tuple[str, tuple[int, ...]], Collector]
"""What reads points of tensors that no equation defines."""
FEW = 4
"""The largest increase of a bound for which an `assume` is suggested."""


def prove_accesses(
    round: Round, drafts: list[Draft], results: list[OutputRead], errors: Collector
) -> None:
    """Prove all accesses, and report those that fail; a point that none defines once."""
    holes: Holes = {}
    for draft in drafts:
        with round.blaming(draft.origin.span):
            _prove_reads(round, draft, errors, holes)
    _report_holes(holes, errors)
    for result in results:
        source = result.ref.draft
        bound = outside_elsewhere(round.space, Domain(()), result.entries, _defined(source))
        if bound and not _is_data(source):
            outer = round.universe.outer(bound)
            shown = ending_errors.ragged_lengths(
                result.span, source.hint, bound, outer, _over(round, source, bound)
            )
            errors.report(shown)
            continue
        violation = round.space.outside(Domain(()), result.entries, _defined(source))
        if violation is not None:
            errors.report(_output(round, result, violation))


def _prove_reads(round: Round, draft: Draft, errors: Collector, holes: Holes) -> None:
    """Prove the accesses of one node; reads of what is defined in parts are ``holes``."""
    for wire in draft.inputs:
        if _is_obvious(wire):
            continue
        sites = call_sites(wire.calls or draft.origin.calls)
        if isinstance(draft.op, Gradient) and wire in draft.inputs[: draft.op.losses]:
            continue  # it reads the loss where there is one
        sink = sink_of(round, draft, wire)
        if not _is_data(wire.source):
            defined = _defined(wire.source)
            bound = outside_elsewhere(round.space, sink, wire.entries, defined)
            if bound:
                errors.report(_elsewhere(round, wire, bound), sites)
                continue
        violation = round.space.outside(sink, wire.entries, _defined(wire.source))
        if violation is not None and isinstance(draft.op, Until):
            errors.report(_never_ends(round, draft.op, wire, violation))
        elif violation is not None:
            missing = (wire.source.hint, violation.index)
            own = holes.setdefault(missing, Collector()) if violation.dim is None else errors
            own.report(_explain(round, draft, wire, sink, violation), sites)
            _forget_covering(round, draft, violation, errors)


def _report_holes(holes: Holes, errors: Collector) -> None:
    """Report the first read of each point that no equation defines, and count the others."""
    for (name, _), reads in holes.items():
        first, *others = reads.ordered()
        spans = [d.primary.span for d in others if d.primary is not None]
        if spans:
            note = access_errors.other_reads(name, len(spans), spans[0].line)
            first = replace(first, notes=(*first.notes, note))
        errors.report(first)


def _is_data(source: Draft) -> bool:
    """Whether a node has rows for the largest lengths; a default is computed for its own points."""
    return isinstance(source.op, Input | Param) and not source.inputs


def _elsewhere(round: Round, wire: Wire, bound: str) -> Diagnostic:
    outer = round.universe.outer(bound)
    at = dict(zip(wire.source.dims, wire.entries, strict=True))
    if any(isinstance(at.get(d), ix.Slice) for d in outer):
        name, over = wire.source.hint, _over(round, wire.source, bound)
        return ending_errors.ragged_lengths(wire.span, name, bound, outer, over)
    dim = next(d for d in outer if d in at and at[d] != ix.Sym(d))
    return ending_errors.other_length(wire.span, wire.span.text, bound, dim)


def _over(round: Round, source: Draft, bound: str) -> str:
    """The dimension of a node that has this bound."""
    dims = [*source.dims, *(d.name for d in round.universe.dims)]
    return next(d for d in dims if round.universe.dim(d).bound == bound)


def _never_ends(round: Round, op: Until, wire: Wire, violation: OutsideRead) -> Diagnostic:
    dims = wire.source.dims
    where = [f"{d} = {violation.point[d]}" for d in dims]
    bounds = f"{op.bound} = {violation.point[op.bound]}"
    dim = next(d for d in reversed(dims) if round.universe.dim(d).bound == op.bound)
    name = wire.span.text
    return ending_errors.partly_defined(wire.span, name, dim, f"{', '.join(where)} when {bounds}")


def _is_obvious(wire: Wire) -> bool:
    """Whether no proof is needed: an identity read of a full domain, or a branch of a merge."""
    if wire.guard != ix.TRUE and wire.source.role == "temporary":
        return True
    is_identity = all(e == ix.Sym(d) for d, e in zip(wire.source.dims, wire.entries, strict=True))
    return is_identity and wire.source.defined == ix.TRUE


def _defined(source: Draft) -> Domain:
    """The domain of a node; that of a temporary is full, since it follows the demand."""
    return Domain(source.dims, source.defined)


def _output(round: Round, result: OutputRead, violation: OutsideRead) -> Diagnostic:
    point = _assignment(result.ref.draft.dims, violation.index)
    if violation.dim is not None:
        bound = round.universe.dim(violation.dim).bound
        point += f" when {bound} = {violation.point[bound]}"
    name, text = result.ref.draft.hint, result.span.text
    if violation.dim is not None:
        wire = Wire(result.ref.draft, result.ref.out, result.entries, result.span)
        return name_errors.output_partial(
            result.span, text, point, _help_outside(round, wire, violation)
        )
    help = name_errors.defined_part(name, _defined_slice(round, result))
    return name_errors.output_partial(result.span, text, point, help)


def _help_outside(round: Round, wire: Wire, violation: OutsideRead) -> str:
    """The fix of an output outside of a dimension, whose entries have no dimensions."""
    assert violation.dim is not None
    failing = wire.source.dims.index(violation.dim)
    above = violation.index[failing] > 0
    guard = _guard(round, wire, failing, above)
    return _no_wrapping(round, wire, failing) or _about_bounds(round, wire, failing, guard, above)


def _no_wrapping(round: Round, wire: Wire, failing: int) -> str:
    """The help for an entry that counts from the end, as in other languages; else empty."""
    dims, entry = wire.source.dims, wire.entries[failing]
    bound, below = ix.Sym(round.universe.dim(dims[failing]).bound), ix.Const(0)
    meant: ix.Entry | None = None
    if isinstance(entry, ix.Const):
        below, meant = entry, bound + entry.value
    elif isinstance(entry, ix.Slice) and isinstance(entry.lo, ix.Const) and entry.hi == bound:
        below, meant = entry.lo, ix.Slice(bound + entry.lo.value, bound, entry.step)
    if meant is None or below.value >= 0:
        return ""
    named = f"{dims[failing]} = " if len(dims) > 1 else ""
    return access_errors.no_wrapping(_name(wire.source), f"{named}{show(meant)}")


def _defined_slice(round: Round, result: OutputRead) -> str:
    """A slice of an output on which it is defined, without up to `FEW` first or last points."""
    draft = result.ref.draft
    for k, entry in enumerate(result.entries):
        if not isinstance(entry, ix.Slice) or entry.step != 1:
            continue
        for cut in range(1, FEW):
            for lo, hi in ((entry.lo + cut, entry.hi), (entry.lo, entry.hi - cut)):
                entries = (*result.entries[:k], ix.Slice(lo, hi), *result.entries[k + 1 :])
                if round.space.outside(Domain(()), entries, _defined(draft)) is None:
                    return f"{draft.hint}[{draft.dims[k]} = {show(ix.Slice(lo, hi))}]"
    return ""


def _assignment(dims: tuple[str, ...], values: tuple[int, ...]) -> str:
    return ", ".join(f"{d} = {v}" for d, v in zip(dims, values, strict=True))


def _explain(
    round: Round, draft: Draft, wire: Wire, sink: Domain, violation: OutsideRead
) -> Diagnostic:
    source = wire.source
    dims, index = source.dims, violation.index
    failing = dims.index(violation.dim) if violation.dim is not None else None
    if failing is not None:
        where = f"{dims[failing]} = {index[failing]}"
        entries: tuple[ix.Entry, ...] = (wire.entries[failing],)
        bound = round.universe.dim(dims[failing]).bound
        above = index[failing] >= violation.point[bound]
    else:
        where, entries, bound, above = _assignment(dims, index), wire.entries, "", False
    named = dict.fromkeys(n for e in entries for n in symbols(e))
    shown = [d for d in sink.dims if d in named] or list(sink.dims)
    assignment = [f"{d} = {violation.point[d]}" for d in shown]
    bounds = [n for n in named if not round.universe.is_dim(n)]
    if above and bound not in bounds:
        bounds.append(bound)
    assignment += [f"{b} = {violation.point[b]}" for b in bounds]
    message = access_errors.message(wire.span.text, _name(source), where, assignment)
    help = _help(round, draft, wire, sink, violation, failing, above)
    notes = (access_errors.hole(source.hint, show(source.defined)),) if failing is None else ()
    if failing is not None and _may_be_of_axes(round, wire):
        notes = (access_errors.own_axes(wire.span.text, dims),)
    return access_errors.outside(wire.span, message, help, notes)


def _may_be_of_axes(round: Round, wire: Wire) -> bool:
    """Whether entries would be right for the axes, in a second bracket."""
    shape = wire.source.types[wire.out].shape if wire.source.types else ()
    if not re.fullmatch(r"\w+\[[^=\]]*\]", wire.span.text) or len(wire.entries) > len(shape):
        return False
    for dim, entry, extent in zip(wire.source.dims, wire.entries, shape, strict=False):
        if entry == ix.Slice(ix.ZERO, ix.Sym(round.universe.dim(dim).bound)):
            continue  # `:` is all of an axis, too
        last = entry.hi - 1 if isinstance(entry, ix.Slice) else entry
        if isinstance(last, ix.Sym) and round.universe.is_dim(last.name):
            last = ix.sub(ix.Sym(round.universe.dim(last.name).bound), ix.ONE)
        if ix.compare("<", last, extent) != ix.TRUE:
            return False
    return True


def _name(source: Draft) -> str:
    """The name of a node in the source; empty for a temporary."""
    return "" if source.role == "temporary" else source.hint


def _help(
    round: Round,
    draft: Draft,
    wire: Wire,
    sink: Domain,
    violation: OutsideRead,
    failing: int | None,
    above: bool,
) -> str:
    """The suggested fix: an equation moved up, an assumption, a guard, another index."""
    source = wire.source
    if failing is not None:
        turned = _no_wrapping(round, wire, failing)
        if turned:
            return turned
    place = _placement(round, draft, violation)
    if place is not None:
        cell, own = place
        later = _covering_placement(cell, own, violation)
        if later is not None:
            return access_errors.move_up(later.equation.span.line, cell.plan.name)
    if failing is None:
        return access_errors.restrict_hole(source.hint)
    guard = _guard(round, wire, failing, above)
    enough = _sufficient_bound(round, sink, wire, violation, failing)
    if enough is not None:
        return access_errors.assume(show(enough))
    entry = wire.entries[failing]
    if above and _is_from_the_end(round, source.dims[failing], entry):
        return access_errors.backwards(_name(source), show(ix.sub(entry, ix.ONE)))
    bound = ix.Sym(round.universe.dim(source.dims[failing]).bound)
    if above and isinstance(entry, ix.IndexMin) and bound in entry.args:
        return access_errors.last(_name(source), show(bound - 1))
    if not any(round.universe.is_dim(n) for n in symbols(entry)):
        return _about_bounds(round, wire, failing, guard, above)
    restricted = show(guard)
    missing = _missing(round, place, violation, entry, above)
    if isinstance(entry, ix.Slice):
        cut = ix.minimum(entry.hi, bound) if above else ix.maximum(ix.Const(0), entry.lo)
        return access_errors.cut(show(cut), restricted, place is not None)
    if place is None:
        return access_errors.index_target(draft.origin.target, restricted)
    return access_errors.restrict(missing, restricted)


def _is_from_the_end(round: Round, dim: str, entry: ix.Entry) -> bool:
    """Whether an entry is the bound of its dimension less an index, which is 0 at first."""
    if isinstance(entry, ix.Slice):
        return False
    less = ix.sub(ix.Sym(round.universe.dim(dim).bound), entry)
    return isinstance(less, ix.Sym) and round.universe.is_dim(less.name)


def _sufficient_bound(
    round: Round, sink: Domain, wire: Wire, violation: OutsideRead, failing: int
) -> ix.Expr | None:
    """A lower bound on the bound that makes the access valid, if there is a small one."""
    source = wire.source
    bound = round.universe.dim(source.dims[failing]).bound
    for size in range(violation.point[bound] + 1, violation.point[bound] + 1 + FEW):
        lower_bound = ix.compare(">=", ix.Sym(bound), ix.Const(size))
        large = Domain(sink.dims, ix.conjunction(sink.where, lower_bound))
        if round.space.outside(large, wire.entries, _defined(source)) is None:
            return lower_bound
    return None


def _about_bounds(round: Round, wire: Wire, failing: int, guard: ix.Expr, above: bool) -> str:
    """The fix of an entry without dimensions: an assumption, if bounds can satisfy it."""
    bound = ix.Sym(round.universe.dim(wire.source.dims[failing]).bound)
    entry = wire.entries[failing]
    if isinstance(entry, ix.Const):
        guard = ix.compare(">=", bound, entry + 1)
    if not round.space.implies(Domain(()), ix.negation(guard)):
        return access_errors.assume(show(guard))
    if isinstance(entry, ix.Slice):
        return access_errors.cut(
            show(bound if above else ix.maximum(ix.Const(0), entry.lo)), "", False
        )
    if above:
        return access_errors.last(_name(wire.source), show(bound - 1))
    return access_errors.no_wrapping(_name(wire.source), show(ix.add(bound, entry)))


def _placement(
    round: Round, draft: Draft, violation: OutsideRead
) -> tuple[IndexedTensor, Placement] | None:
    """The innermost indexed equation whose right side a node belongs to, perhaps by a call in it.

    Of several targets that is one that has the point, for which the right side is computed.
    """
    point = violation.point
    for span in (draft.origin.span, *(c.span for c in reversed(draft.origin.calls))):
        places = [
            (cell, p)
            for cell in round.cells.values()
            for p in cell.plan.placements
            if p.equation.span.encloses(span)
        ]
        for cell, p in places:
            if all(n in point for n in symbols(p.local)) and evaluate(p.local, point):
                return cell, p
        if places:
            return places[0]
    return None


def _covering_placement(
    cell: IndexedTensor, own: Placement, violation: OutsideRead
) -> Placement | None:
    """A later equation that claims the point: it would be used if moved above this one."""
    point = dict(violation.point)
    if any(d not in point for d in own.dims):
        return None
    at = {d: evaluate(e, point) for d, e in own.entries.items()}
    env = {**point, **at}
    for p in cell.plan.placements:
        applies = p.number > own.number and all(n in env for n in symbols(p.claimed))
        if applies and evaluate(p.claimed, env):
            return p
    return None


def _forget_covering(round: Round, draft: Draft, violation: OutsideRead, errors: Collector) -> None:
    """Drop the "never used" error of that later equation: it has the same cause."""
    place = _placement(round, draft, violation)
    later = None if place is None else _covering_placement(*place, violation)
    if later is not None:
        unused = domain_errors.UNREACHABLE
        errors.diagnostics[:] = [
            d
            for d in errors.diagnostics
            if not (d.code == unused and d.primary and d.primary.span == later.equation.span)
        ]


def _guard(round: Round, wire: Wire, failing: int, above: bool) -> ix.Expr:
    """The shortest condition under which an entry is in bounds."""
    entry = wire.entries[failing]
    bound = ix.Sym(round.universe.dim(wire.source.dims[failing]).bound)
    if isinstance(entry, ix.Slice):
        entry = entry.hi - 1 if above else entry.lo
    dim = next((n for n in symbols(entry) if round.universe.is_dim(n)), None)
    limit: ix.Expr = bound if above else ix.Const(0)
    if dim is None:
        return ix.compare("<" if above else ">=", entry, limit)
    if isinstance(entry, (ix.Sym, ix.IndexSum)):
        offset = ix.sub(entry, ix.Sym(dim))
        if dim not in symbols(offset):
            return ix.compare("<" if above else ">=", ix.Sym(dim), ix.sub(limit, offset))
    return ix.compare("<" if above else ">=", entry, limit)


def _missing(
    round: Round,
    place: tuple[IndexedTensor, Placement] | None,
    violation: OutsideRead,
    entry: ix.Entry,
    above: bool,
) -> str:
    """The target of a missing equation: `x[0]`, `s[i, 0]`, `x[T-1]`."""
    if place is None:
        return ""
    cell, own = place
    dims = [n for n in symbols(entry) if round.universe.is_dim(n)]
    parts = []
    for d in cell.plan.dims:
        e = own.entries[d]
        if not any(n in dims for n in symbols(e)):
            parts.append(show(e))
        elif above:
            parts.append(show(ix.Sym(round.universe.dim(d).bound) - 1))
        elif all(n in violation.point for n in symbols(e)):
            parts.append(str(evaluate(e, violation.point)))
        else:
            return ""
    return f"{cell.plan.name}[{', '.join(parts)}]"
