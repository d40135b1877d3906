"""Indexed tensors in a round: what readers get, and what the branches make of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tempoc.base.source import Span
from tempoc.frontend import type_errors
from tempoc.frontend.cell import Branch, Cell, Placement
from tempoc.frontend.choice import conform
from tempoc.frontend.draft import Draft, Wire
from tempoc.frontend.operate import type_of
from tempoc.frontend.problem import Problem
from tempoc.frontend.round import Facts, Frame, Known, Round
from tempoc.frontend.scope import Scope
from tempoc.frontend.values import (
    BAD,
    Listing,
    Number,
    Record,
    Ref,
    Typed,
    Unknown,
    Value,
    leaves,
    map_leaves,
    unknown_in,
)
from tempoc.ops.control import Merge
from tempoc.ops.opdef import OperandError
from tempoc.ops.promote import promote
from tempoc.ops.shapes import same_shape
from tempoc.ops.types import DType, TensorType
from tempoc.symbolic.expr import FALSE, Expr, Sym
from tempoc.symbolic.walk import substitute


def value_of(round: Round, cell: Cell, span: Span) -> Value:
    """The tensor at the point at hand, as far as this round knows it."""
    if cell.plan.broken:
        return BAD
    known = round.table.get(cell.key)
    if known is None:
        return Unknown(frozenset((cause(cell),)))

    def leaf(path: tuple[str, ...], value: Value) -> Value:
        assert isinstance(value, Typed)
        draft = _leaf(cell, path, value.type, known.dims)
        return Ref(draft, 0, tuple(Sym(d) for d in draft.dims), value.type, span)

    return map_leaves(leaf, known.tree)


def cause(cell: Cell) -> str:
    """How an unknown value names this tensor."""
    return ".".join(str(k) for k in cell.key)


def _leaf(cell: Cell, path: tuple[str, ...], type: TensorType, dims: tuple[str, ...]) -> Draft:
    draft = cell.leaves.get(path)
    if draft is None:
        draft = Draft(
            hint=".".join((cell.name, *path)),
            dims=dims,
            types=(type,),
            origin=cell.origin,
            role="local" if len(cell.key) > 1 else "root",
            written=cell.plan.dims,
            defined=cell.plan.where,
            spans=tuple(p.equation.span for p in cell.plan.placements),
        )
        cell.leaves[path] = draft
    return draft


def finish(round: Round, cell: Cell) -> None:
    """All branches are there: find the types, and make the nodes if these are not new."""
    cell.finished = True
    if cell.plan.broken:
        return
    unknown = unknown_in(*(b.value for b in cell.branches))
    if unknown is not None:
        round.unknown[cause(cell)] = unknown
    frame = Frame(scope=Scope("loop"), path=cell.key, prefix=cell.name, origin=cell.origin)
    try:
        known = _joined(round, cell)
    except Problem as problem:
        round.report(problem.diagnostic, cell.origin.calls)
        round.unknown[cause(cell)] = BAD
        return
    if known is None:
        return
    if known != round.table.get(cell.key):
        round.table[cell.key] = known
        round.changed = True
        cell.leaves.clear()
        return
    for path, typed in leaves(known.tree):
        assert isinstance(typed, Typed)
        _leaf(cell, path, typed.type, known.dims)
        _define(round, frame, cell, path, typed.type, known.dims)


def _define(
    round: Round,
    frame: Frame,
    cell: Cell,
    path: tuple[str, ...],
    type: TensorType,
    dims: tuple[str, ...],
) -> None:
    """Fill the node that the readers of a leaf read."""
    draft = cell.leaves[path]
    targets: list[tuple[Expr, ...]] = []
    for branch in cell.branches:
        value = _at(branch.value, path)
        if isinstance(value, (Unknown, Typed)) or branch.placement.kept == FALSE:
            continue
        place = branch.placement
        here = frame.within(place.needed)
        source = _source_type(place, type)
        if not cell.plan.merges:
            _try_conform(round, here, branch, value, draft)
            return
        own = round.universe.ordered((*place.dims, *(d for d in dims if d not in cell.plan.dims)))
        side = Draft(
            hint=".".join((cell.name, *path, str(place.number))),
            dims=own,
            types=(source,),
            origin=branch.origin,
            spans=(place.equation.span,),
        )
        _try_conform(round, here, branch, value, side)
        back = _inverse(place)
        entries = tuple(back.get(d, Sym(d)) for d in own)
        draft.inputs.append(Wire(side, 0, entries, place.target.span, place.kept))
        targets.append(tuple(place.entries.get(d, Sym(d)) for d in dims))
        side.uses += 1
    draft.op = Merge(targets=tuple(targets))
    round.add(draft)


def _try_conform(round: Round, frame: Frame, branch: Branch, value: Value, draft: Draft) -> None:
    here = replace(frame, origin=branch.origin)
    try:
        conform(round, here, value, draft, branch.placement.target.span)
    except Problem as problem:
        round.report(problem.diagnostic, branch.origin.calls)


def _inverse(place: Placement) -> dict[str, Expr]:
    """The equation's dimensions in terms of the tensor's points."""
    return {d: Sym(d) - (place.entries[d] - Sym(d)) for d in place.dims}


def _source_type(place: Placement, type: TensorType) -> TensorType:
    """A type in the tensor's coordinates, as the equation sees it."""
    shape = tuple(substitute(e, place.entries) for e in type.shape)
    return TensorType(type.dtype, shape, type.weak)


def _at(value: Value, path: tuple[str, ...]) -> Value:
    for step in path:
        if isinstance(value, Record):
            value = value.get(step) or BAD
        elif isinstance(value, Listing):
            value = value.items[int(step)] if int(step) < len(value.items) else BAD
    return value


@dataclass(frozen=True, slots=True)
class _Part:
    """A leaf of a branch: its type in the tensor's coordinates."""

    branch: Branch
    type: TensorType
    literal: bool


def _joined(round: Round, cell: Cell) -> Known | None:
    """What the branches tell together; `None` if nothing yet. Raises `Problem`."""
    trees = [b for b in cell.branches if not isinstance(b.value, Unknown)]
    previous = round.table.get(cell.key)
    if not trees:
        return previous
    shape = next((b for b in trees if not isinstance(b.value, Number)), trees[0])
    paths = [path for path, _ in leaves(shape.value)]
    for b in trees:
        own = [path for path, _ in leaves(b.value)]
        if sorted(own) != sorted(paths) and not (own == [()] and isinstance(b.value, Number)):
            raise Problem(
                type_errors.branch_structure(
                    b.placement.target.span,
                    cell.plan.name,
                    shape.value,
                    b.value,
                    shape.placement.target.span,
                )
            )
    dims = round.universe.ordered((*cell.plan.dims, *cell.carried))

    def leaf(path: tuple[str, ...], _: Value) -> Value:
        parts = [_part(b, path) for b in trees]
        found = [p for p in parts if p is not None]
        return Typed(_join(round, cell, found)) if found else BAD

    tree = map_leaves(leaf, shape.value)
    if unknown_in(tree) is not None:
        return previous
    return Known(tree=tree, dims=dims)


def _part(branch: Branch, path: tuple[str, ...]) -> _Part | None:
    value = branch.value if isinstance(branch.value, Number) else _at(branch.value, path)
    if isinstance(value, Unknown):
        return None
    place = branch.placement
    type = type_of(value, place.target.span)
    back = _inverse(place)
    shape = tuple(substitute(e, back) for e in type.shape)
    return _Part(branch, TensorType(type.dtype, shape, type.weak), isinstance(value, Number))


def _join(round: Round, cell: Cell, parts: list[_Part]) -> TensorType:
    try:
        dtype, weak = promote(p.type for p in parts)
    except OperandError as error:
        raise Problem(
            type_errors.operands(parts[-1].branch.placement.target.span, error.message, error.help)
        ) from None
    shaped = [p for p in parts if not p.literal]
    if not shaped:
        return TensorType(dtype, (), weak)
    first = max(shaped, key=lambda p: len(p.branch.placement.dims))
    for other in shaped:
        facts = Facts(round, other.branch.placement.kept)
        if other is not first and not same_shape(first.type.shape, other.type.shape, facts):
            place, span = other.branch.placement, first.branch.placement.target.span
            shown = _source_type(place, first.type)
            raise Problem(
                type_errors.branch_types(
                    place.target.span,
                    cell.plan.name,
                    shown,
                    type_of(_plain(other), span),
                    span,
                )
            )
    return TensorType(dtype, first.type.shape, weak and _one_dtype(parts, dtype))


def _plain(part: _Part) -> Value:
    return Typed(_source_type(part.branch.placement, part.type))


def _one_dtype(parts: list[_Part], dtype: DType) -> bool:
    """Whether no branch needs a cast, whose result would not be weak."""
    return all(p.literal or p.type.dtype is dtype for p in parts)

