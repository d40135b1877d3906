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
    leaf_at,
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
    if known is None or round.spoiled.get(cell.key):
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
        value = leaf_at(branch.value, path)
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


class _Mismatch(Exception):
    """Two of the trees differ in their structure."""

    def __init__(self, first: int, other: int) -> None:
        super().__init__()
        self.which = (first, other)


def _skeleton(values: tuple[Value, ...]) -> Value:
    """A tree with the structure that all have in common. Raises `_Mismatch`."""
    open_ended = [k for k, v in enumerate(values) if isinstance(v, (Unknown, Number))]
    firm = [k for k in range(len(values)) if k not in open_ended]
    if not firm:
        return values[0]
    first = values[firm[0]]
    for k in firm[1:]:
        if _form(values[k]) != _form(first):
            raise _Mismatch(firm[0], k)
    if isinstance(first, Record):
        return Record(tuple((n, _skeleton(_parts(values, n))) for n in first.names))
    if isinstance(first, Listing):
        counts = range(len(first.items))
        return Listing(tuple(_skeleton(_parts(values, str(k))) for k in counts))
    return first


def _form(value: Value) -> tuple[str, ...]:
    if isinstance(value, Record):
        return ("record", *sorted(value.names))
    return ("list", str(len(value.items))) if isinstance(value, Listing) else ()


def _parts(values: tuple[Value, ...], step: str) -> tuple[Value, ...]:
    return tuple(leaf_at(v, (step,)) for v in values)


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
    try:
        shape = _skeleton(tuple(b.value for b in trees))
    except _Mismatch as mismatch:
        first, other = (trees[k] for k in mismatch.which)
        raise Problem(
            type_errors.branch_structure(
                other.placement.target.span,
                cell.plan.name,
                first.value,
                other.value,
                first.placement.target.span,
            )
        ) from None
    dims = round.universe.ordered((*cell.plan.dims, *cell.carried))

    def leaf(path: tuple[str, ...], _: Value) -> Value:
        parts = [_part(b, path) for b in trees]
        found = [p for p in parts if p is not None]
        return Typed(_join(round, cell, found)) if found else BAD

    tree = map_leaves(leaf, shape)
    if unknown_in(tree) is not None:
        return previous
    return Known(tree=tree, dims=dims)


def _part(branch: Branch, path: tuple[str, ...]) -> _Part | None:
    value = leaf_at(branch.value, path)
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

