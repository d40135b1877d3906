"""Indexed tensors in a round: placeholder reads, and the merge node of the branches."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, Wire
from tempoc.frontend.environment.draft_order import finish_of
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.indexed_tensor import EquationBranch, IndexedTensor
from tempoc.frontend.environment.lower_bounds import doubt_of, is_open
from tempoc.frontend.environment.round import Frame, InferredTensor, Round
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.equations.join_branches import inverse, join_branches, source_type
from tempoc.frontend.expressions.conditional import conform
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import entries_at


def value_of(round: Round, cell: IndexedTensor, span: Span) -> val.Value:
    """The tensor at the current point, as far as known in this round."""
    if cell.plan.broken or cell.key in round.spoiled:
        round.uncertain = True
        return val.BAD
    inferred = round.table.get(cell.key)
    if inferred is None or round.unshaped.get(cell.key):
        round.uncertain = True
        return val.Unknown(frozenset((cause(cell),)), dims=frozenset(cell.plan.dims))

    def leaf(path: tuple[str, ...], value: val.Value) -> val.Value:
        if not isinstance(value, val.Typed):
            round.uncertain = True
            return val.Unknown(frozenset((cause(cell),))) if is_open(value) else val.BAD
        draft = _leaf(cell, path, value, inferred.dims)
        return val.Ref(draft, 0, tuple(ix.Sym(d) for d in draft.dims), value.type, span)

    return val.map_leaves(leaf, inferred.tree)


def cause(cell: IndexedTensor) -> str:
    """The name of this tensor among the causes of an unknown value."""
    return ".".join(str(k) for k in cell.key)


def _leaf(
    cell: IndexedTensor, path: tuple[str, ...], typed: val.Typed, dims: tuple[str, ...]
) -> Draft:
    draft = cell.leaves.get(path)
    if draft is None:
        draft = Draft(
            hint=".".join((cell.name, *path)),
            dims=dims,
            types=(typed.type,),
            origin=cell.origin,
            doubt=typed.doubt,
            role="local" if len(cell.key) > 1 else "root",
            written=cell.plan.dims,
            defined=cell.plan.where,
            spans=tuple(p.equation.span for p in cell.plan.placements),
        )
        cell.leaves[path] = draft
    return draft


def anticipate(round: Round, cell: IndexedTensor) -> None:
    """Before the last branch: the type that the first ones give is a lower bound for the others.

    In a cycle these would read an unknown tensor, and wait for a further round.
    """
    if cell.plan.broken or cell.key in round.table:
        return
    with suppress(Failure):  # which `finish` reports
        inferred = join_branches(round, cell, early=True)
        if inferred is not None:
            round.table[cell.key] = inferred
            round.inferred = True


def finish(round: Round, cell: IndexedTensor) -> None:
    """After the last branch: infer the types, and build the nodes if the types are unchanged."""
    cell.finished = True
    if not cell.plan.broken:
        with round.order.unit(finish_of(cell)), round.blaming(cell.origin.span):
            _finish(round, cell)


def _finish(round: Round, cell: IndexedTensor) -> None:
    unknown = val.unknown_in(*(b.value for b in cell.branches))
    if unknown is not None:
        round.unknown[cause(cell)] = unknown
    frame = Frame(scope=Scope("loop"), path=cell.key, prefix=cell.name, origin=cell.origin)
    try:
        inferred = join_branches(round, cell)
    except Failure as problem:
        round.report(problem.diagnostic, cell.origin.calls)
        round.unknown[cause(cell)] = val.BAD
        return
    if inferred is None:
        return
    previous = round.table.get(cell.key)
    round.table[cell.key] = inferred
    round.inferred = round.inferred or previous is None
    round.uncertain = round.uncertain or bool(cell.leaves and inferred != previous)
    if not _is_settled(round, previous, inferred):
        round.changed = True
        cell.leaves.clear()
        return
    round.firmer = round.firmer or inferred != previous
    for path, typed in val.leaves(inferred.tree):
        if not isinstance(typed, val.Typed):
            continue
        _leaf(cell, path, typed, inferred.dims)
        _define(round, frame, cell, path, typed.type, inferred.dims)


def _is_settled(round: Round, previous: InferredTensor | None, inferred: InferredTensor) -> bool:
    """Whether nodes can be built that have the type of a tensor."""
    if round.eager and not round.uncertain:
        return True
    if previous is None or previous.dims != inferred.dims:
        return False
    return _types(previous) == _types(inferred)


def _types(known: InferredTensor) -> val.Value:
    return val.without_doubt(known.tree)


def _define(
    round: Round,
    frame: Frame,
    cell: IndexedTensor,
    path: tuple[str, ...],
    type: TensorType,
    dims: tuple[str, ...],
) -> None:
    """Define the placeholder node of a leaf: as the only branch, or a merge of all branches."""
    draft = cell.leaves[path]
    targets: list[tuple[ix.Expr, ...]] = []
    for branch in cell.branches:
        value = val.leaf_at(branch.value, path)
        if isinstance(value, (val.Unknown, val.Typed)) or branch.placement.used == ix.FALSE:
            continue
        place = branch.placement
        inner = frame.within(place.local)
        source = source_type(place, type)
        if not cell.plan.merges:
            _try_conform(round, inner, branch, value, draft)
            return
        own = round.universe.ordered((*place.dims, *(d for d in dims if d not in cell.plan.dims)))
        side = Draft(
            hint=".".join((cell.name, *path, str(place.number))),
            dims=own,
            types=(source,),
            origin=branch.origin,
            spans=(place.equation.span,),
        )
        _try_conform(round, inner, branch, value, side)
        inverted = inverse(place)
        entries = entries_at(own, inverted)
        draft.inputs.append(Wire(side, 0, entries, place.target.span, place.used))
        targets.append(entries_at(dims, place.entries))
        side.uses += 1
    draft.op = Merge(targets=tuple(targets))
    round.add(draft)


def _try_conform(
    round: Round, frame: Frame, branch: EquationBranch, value: val.Value, draft: Draft
) -> None:
    inner = replace(frame, origin=branch.origin)
    try:
        conform(round, inner, value, draft, branch.placement.target.span)
    except Failure as problem:
        if doubt_of(value) or draft.doubt:
            round.deferred = True
            return
        round.report(problem.diagnostic, branch.origin.calls)
