"""Equations: the right side is evaluated once, and every target gets its part."""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, DraftOrigin
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.indexed_tensor import (
    EquationBranch,
    IndexedTensor,
    Placement,
    TensorKey,
)
from tempoc.frontend.environment.lower_bounds import doubt_of, is_open
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import DISCARD, Pending, Scope, TensorName
from tempoc.frontend.equations.merge_branches import anticipate, finish
from tempoc.frontend.equations.targets import make_plan
from tempoc.frontend.errors import (
    domains as domain_errors,
    names as name_errors,
    types as type_errors,
)
from tempoc.frontend.expressions import annotations as annotate, random_draws as draws
from tempoc.frontend.expressions.apply_operator import identity, type_of, unspread
from tempoc.frontend.expressions.conditional import conform
from tempoc.frontend.syntax import ast
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import symbols


def run(round: Round, frame: Frame, eq: ast.Equation) -> None:
    """Evaluate an equation, once per round, and assign the values to its targets."""
    round.order.note(equation_key(frame, eq))
    _run_once(round, frame, eq)


def run_ahead(round: Round, frame: Frame, eq: ast.Equation) -> None:
    """Evaluate an equation whose turn has not come."""
    with round.order.before_its_turn(equation_key(frame, eq)):
        _run_once(round, frame, eq)


def equation_key(frame: Frame, eq: ast.Equation) -> TensorKey:
    """Identifies an equation in all rounds."""
    return (*frame.path, "=", eq.span.start)


def _run_once(round: Round, frame: Frame, eq: ast.Equation) -> None:
    key = equation_key(frame, eq)
    if key not in round.done:
        round.done[key] = False
        with round.order.unit(key):
            _run(round, frame, eq)
        round.done[key] = True


def _run(round: Round, frame: Frame, eq: ast.Equation) -> None:
    for target in eq.targets:
        name = frame.scope.find(target.name.name)
        if isinstance(name, TensorName) and name.kind == "indexed":
            round.language.cell(round, name, target.span)
    where = _where(round, frame, eq)
    shared = len(eq.values) == 1 and len(eq.targets) > 1
    values: list[val.Value] = []
    for k, e in enumerate(eq.values):
        inner = _inside(round, frame, eq, eq.targets[k], where)
        targets = eq.targets if shared else (eq.targets[k],)
        values.append(_value(round, inner, eq, e, targets))
    _check_guard(round, frame, eq, values)
    for k, target in enumerate(eq.targets):
        inner = _inside(round, frame, eq, target, where)
        value = values[0] if shared else values[k]
        action = partial(_part, round, inner, eq, k, value)
        part = round.attempt(inner, action, doubted=bool(doubt_of(value)))
        _assign(round, frame, inner, eq, target, part if part != val.BAD else _failed_value(value))


def _value(
    round: Round,
    frame: Frame,
    eq: ast.Equation,
    e: ast.Expression,
    targets: tuple[ast.EquationTarget, ...],
) -> val.Value:
    """The value of a right-hand side, whose draws have the dimensions that it has itself."""
    draws_before = round.draws
    placed = [(t, placement(round, frame, eq, t)) for t in targets]
    value = round.evaluate(replace(frame, draws=draws.draw_dims(round, frame, placed)), e)
    if frame.scope.body().kind == "module" and round.draws > draws_before:
        draws.record_draw_dims(round, targets, value)
    return value


def _inside(
    round: Round, frame: Frame, eq: ast.Equation, target: ast.EquationTarget, where: ix.Expr
) -> Frame:
    name = target.name.name
    prefix = f"{frame.prefix}.{name}" if frame.prefix else name
    origin = DraftOrigin(span=eq.span, target=name, calls=frame.origin.calls)
    scope = Scope("loop", parent=frame.scope)
    inner = replace(frame, scope=scope, prefix=prefix, origin=origin, where=where)
    for e in eq.values:
        annotate.predeclare_extents(round, inner, e)
    return inner


def _check_guard(round: Round, frame: Frame, eq: ast.Equation, values: Sequence[val.Value]) -> None:
    """Report a guard on targets without entries, which a function's own ones are told before."""
    if eq.guard is None or any(t.entries is not None for t in eq.targets):
        return
    dims = [d for v in values for d in val.dims_of(v, round.universe)]
    for target in eq.targets:
        name = target.name.name
        if is_discarded(target) or isinstance(frame.scope.find(name), TensorName):
            report_guard(round, frame, eq.guard.span, name, dims)
            return


def report_guard(
    round: Round, frame: Frame, guard: Span, name: str, varying: Sequence[str] = ()
) -> None:
    """Report the guard of an unindexed equation, of which the right side has dimensions `varying`.

    The help names these, and what the guard names of what is visible there.
    """
    dims = {d.name for d in round.universe.dims}
    bindings = {n: frame.scope.find(n) for n in frame.scope.visible()}
    visible = [
        n
        for n, value in bindings.items()
        if isinstance(value, val.Index)
        and isinstance(value.expr, ix.Sym)
        and str(value.expr.name) in dims
    ]
    words = re.findall(r"\w+", guard.text)
    used = dict.fromkeys((*(n for n in visible if n in words), *varying))
    own = tuple(used) if used.keys() - dims else round.universe.ordered(tuple(used))
    round.report(domain_errors.plain_guard(guard, name, own), frame.origin.calls)


def is_discarded(target: ast.EquationTarget) -> bool:
    """Whether the target is `_`, whose value is discarded."""
    return target.name.name == DISCARD


def _where(round: Round, frame: Frame, eq: ast.Equation) -> ix.Expr:
    """The condition under which the right-hand side is needed: one of the targets uses it."""
    parts: list[ix.Expr] = []
    for target in eq.targets:
        placed = placement(round, frame, eq, target)
        if placed is None:
            return frame.where
        parts.append(placed[1].local)
    return ix.disjunction(*parts)


def placement(
    round: Round, frame: Frame, eq: ast.Equation, target: ast.EquationTarget
) -> tuple[IndexedTensor, Placement] | None:
    """The tensor that an indexed target writes, and where."""
    cell = frame.scope.find(target.name.name)
    if is_discarded(target) and target.entries is not None:
        cell = _discarded(round, frame, eq, target)
    if isinstance(cell, IndexedTensor):
        for p in cell.plan.placements:
            if p.target.span == target.span:  # bodies are rewritten anew in each round
                return cell, p
    return None


def _discarded(
    round: Round, frame: Frame, eq: ast.Equation, target: ast.EquationTarget
) -> IndexedTensor:
    """The tensor that an indexed target `_[...]` would define."""
    key = (*frame.path, DISCARD, target.span.start)
    plan = round.plans.get(key)
    if plan is None:
        plan = round.plans[key] = make_plan(round, frame, DISCARD, ((eq, target),))
    for problem in plan.problems:
        round.report(problem, frame.origin.calls)
    return IndexedTensor(
        key=key, name=DISCARD, plan=plan, origin=DraftOrigin(span=eq.span, target=DISCARD)
    )


def _part(round: Round, frame: Frame, eq: ast.Equation, number: int, value: val.Value) -> val.Value:
    """The value of one target, converted to its annotated type. Raises `Failure`."""
    target = eq.targets[number]
    if not isinstance(value, val.Unknown):
        if len(eq.values) == len(eq.targets):
            if isinstance(value, val.Several):
                if not value.items and is_discarded(target):
                    return val.BAD
                raise Failure(type_errors.wrong_results(eq.values[number].span, 1, value))
        elif not isinstance(value, (val.Several, val.Listing)) or len(value.items) != len(
            eq.targets
        ):
            raise Failure(type_errors.wrong_results(eq.values[0].span, len(eq.targets), value))
        else:
            value = value.items[number]
    if target.type is None:
        return value
    if isinstance(value, val.Unknown) and target.entries is None:
        early = round.partial and is_open(value)
        return annotate.declared_only(round, frame, target.type, target.span) if early else value
    declared = annotate.type_tree(round, frame, target.type)
    try:
        return annotate.check(round, frame, value, declared, target.type.span)
    except Failure as problem:
        if target.entries is None:
            raise
        if doubt_of(value):
            round.deferred = True
            return declared
        round.report(problem.diagnostic, frame.origin.calls)
        dims = [d.name for d in round.universe.dims]
        return val.map_leaves(lambda _, v: _remaining_type(v, dims, target.span), declared)


def _assign(
    round: Round,
    outer: Frame,
    here: Frame,
    eq: ast.Equation,
    target: ast.EquationTarget,
    value: val.Value,
) -> None:
    name = target.name.name
    if is_discarded(target):
        _check_free(round, outer, eq, target, value)
        return
    if target.entries is not None:
        cell = outer.scope.find(name)
        place = placement(round, outer, eq, target)
        if place is not None:
            _branch(round, here, place[0], place[1], value)
        is_complete = isinstance(cell, IndexedTensor) and len(cell.branches) >= len(
            cell.plan.placements
        )
        if is_complete and isinstance(cell, IndexedTensor) and not cell.finished:
            finish(round, cell)
        return
    if outer.scope.body().kind == "module":
        action = partial(_plain, round, here, target, value)
        round.values[name] = round.attempt(here, action, doubted=bool(doubt_of(value)))
        return
    _local(round, outer, target, value)


def _failed_value(value: val.Value) -> val.Value:
    """The value of a target after an error; a call without results stays, for its dimensions."""
    return value if isinstance(value, val.Several) and not value.items else val.BAD


def _check_free(
    round: Round,
    outer: Frame,
    eq: ast.Equation,
    target: ast.EquationTarget,
    value: val.Value,
) -> None:
    """Report free dimensions of a discarded value that an indexed target does not name."""
    place = placement(round, outer, eq, target)
    if place is None or outer.scope.body().kind != "module":
        return
    varying = value.dims if isinstance(value, val.Several) else val.dims_of(value, round.universe)
    free = [d for d in varying if d not in place[1].dims]
    if free:
        shown = _target_text(place[0])
        round.report(domain_errors.free_dimension(target.span, DISCARD, tuple(free), {}, shown))


def _branch(
    round: Round, here: Frame, cell: IndexedTensor, place: Placement, value: val.Value
) -> None:
    scope = here.scope.body()
    own = place.dims
    named = (*scope.dims, *cell.plan.dims) if scope.kind == "body" else None
    free = [d for d in val.dims_of(value, round.universe) if d not in own]
    if free:
        value = val.map_leaves(lambda _, v: unspread(round, v, own), value)
        free = [d for d in val.dims_of(value, round.universe) if d not in own]
    wrong = [d for d in free if named is None or d in named]
    if wrong and not cell.plan.broken:
        fixed = {d: show(place.entries[d]) for d in wrong if d in place.entries}
        dims = tuple(fixed or wrong)
        target, values = _target_text(cell), place.equation.values
        right = values[0].span.text if len(values) == 1 else ""
        diagnostic = domain_errors.free_dimension(
            place.target.span, cell.plan.name, dims, fixed, target, right
        )
        round.report(diagnostic, here.origin.calls)
        value = val.map_leaves(lambda _, v: _remaining_type(v, free, place.target.span), value)
    else:
        carried = () if cell.plan.broken else free
        cell.carried = round.universe.ordered((*cell.carried, *carried))
    value = val.map_leaves(lambda _, v: _storable_leaf(round, here, v, place), value)
    branch = EquationBranch(placement=place, value=value, origin=here.origin)
    insort(cell.branches, branch, key=lambda b: b.placement.number)
    round.order.note((cell, place))
    if round.eager and len(cell.branches) < len(cell.plan.placements):
        anticipate(round, cell)


def _remaining_type(value: val.Value, free: list[str], span: Span) -> val.Value:
    """The type of a value in error, unless it varies with one of the dimensions ``free``."""
    if not isinstance(value, val.Ref | val.Index | val.ConstantNumber | val.Typed):
        return val.BAD
    type = type_of(value, span)
    varies = any(n in free for e in type.shape for n in symbols(e))
    return val.BAD if varies else val.Typed(type)


def _storable_leaf(round: Round, here: Frame, value: val.Value, place: Placement) -> val.Value:
    """The leaf of a stored tree; reports an error if it is no tensor."""
    if isinstance(value, (val.Unknown, val.ConstantNumber, val.Index, val.Ref, val.Typed)):
        return value

    def refuse() -> val.Value:
        type_of(value, place.target.span)
        return val.BAD

    return round.attempt(here, refuse)


def _target_text(cell: IndexedTensor) -> str:
    return f"{cell.plan.name}[{', '.join(cell.plan.dims)}] = ..."


def _plain(round: Round, here: Frame, target: ast.EquationTarget, value: val.Value) -> val.Value:
    """A tensor with an unindexed equation: a node per leaf, over all dimensions of the value."""
    tree = isinstance(value, (val.ConstantNumber, val.Index, val.Ref, val.Listing, val.RecordValue))
    if not tree or any(
        not isinstance(v, (val.ConstantNumber, val.Index, val.Ref)) for _, v in val.leaves(value)
    ):
        round.uncertain = True  # others share its nodes, in the order in which they are evaluated
        return value
    dims = val.dims_of(value, round.universe)
    name = target.name.name

    def leaf(path: tuple[str, ...], v: val.Value) -> val.Value:
        type = type_of(v, target.span)
        extra = tuple(n for e in type.shape for n in _dims(round, e))
        draft = Draft(
            hint=".".join((name, *path)),
            dims=round.universe.ordered((*dims, *extra)),
            types=(type,),
            origin=here.origin,
            role="root",
            spans=(here.origin.span,),
        )
        conform(round, here, v, draft, target.span)
        static = v if isinstance(v, (val.ConstantNumber, val.Index)) else None
        ref = identity(round, here, draft, target.span)
        return replace(ref, static=static)

    return val.map_leaves(leaf, value)


def _dims(round: Round, e: ix.Expr) -> tuple[str, ...]:
    return round.domain(ix.TRUE, e).dims


def _local(round: Round, outer: Frame, target: ast.EquationTarget, value: val.Value) -> None:
    """A plain local name of a function."""
    name, body = target.name.name, outer.scope.body()
    binding = body.names.get(name)
    loops = outer.scope.kind == "loop"
    if binding is not None and not isinstance(binding, Pending) and not loops:
        if name not in body.places:
            diagnostic = name_errors.no_function(target.name.span, name)
        else:
            diagnostic = name_errors.rebound(target.name.span, name, body.places[name])
        round.report(diagnostic, outer.origin.calls)
        return
    body.bind(name, value, target.name.span)
