"""The type of an indexed tensor as the join of the types of its branches.

The dtype is the promotion over all branches. The shape is the common shape of all branches that are
not numbers; expressions for it may differ, but are equal where their branch is used. The type has
doubt as long as some branch is unknown or has doubt.
"""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Doubt
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.indexed_tensor import EquationBranch, IndexedTensor, Placement
from tempoc.frontend.environment.lower_bounds import doubt_of, is_open
from tempoc.frontend.environment.round import FrameFacts, InferredTensor, Round
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.expressions.weak_literals import is_literal
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.promotion import promote
from tempoc.ops.definition.shapes import Shape, broadcast, same_shape
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute


def inverse(place: Placement) -> dict[str, ix.Expr]:
    """The equation's dimensions in terms of the tensor's points."""
    return {d: ix.Sym(d) - (place.entries[d] - ix.Sym(d)) for d in place.dims}


def source_type(place: Placement, type: TensorType) -> TensorType:
    """A type in the tensor's coordinates, as the equation sees it."""
    shape = tuple(substitute(e, place.entries) for e in type.shape)
    return TensorType(type.dtype, shape, type.weak)


def join_branches(
    round: Round, cell: IndexedTensor, *, early: bool = False
) -> InferredTensor | None:
    """The join of the branches; `None` if nothing is known yet. Raises `Failure`.

    ``early``: before the last branch.
    """
    branches = [b for b in cell.branches if not isinstance(b.value, val.Unknown)]
    if not branches:
        return _previous(round, cell)
    shape = _structure(round, cell, branches)
    dims = round.universe.ordered((*cell.plan.dims, *cell.carried))

    def leaf(path: tuple[str, ...], _: val.Value) -> val.Value:
        values = [val.leaf_at(b.value, path) for b in cell.branches]
        pairs = zip(cell.branches, values, strict=True)
        parts = [_part(b, v) for b, v in pairs if not isinstance(v, val.Unknown)]
        is_early = early or any(is_open(v) for v in values)
        if parts:
            return _join(round, cell, parts, is_early)
        return val.Unknown(frozenset((val.LATER,))) if is_early else val.BAD

    tree = val.map_leaves(leaf, shape)
    leaf_types = [v for _, v in val.leaves(tree)]
    if leaf_types and all(isinstance(v, val.Unknown) for v in leaf_types):
        return round.table.get(cell.key)
    return InferredTensor(tree=tree, dims=dims)


def _previous(round: Round, cell: IndexedTensor) -> InferredTensor | None:
    """The type of the round before, if all branches are unknown; a lower bound is withdrawn.

    A tensor's lower bound is withdrawn only once, which guarantees termination.
    """
    known = round.table.get(cell.key)
    stale = known is not None and doubt_of(known.tree) is Doubt.SHAPE
    if not stale or cell.key in round.restarted:
        return known
    round.restarted[cell.key] = None
    del round.table[cell.key]
    round.changed = True
    return None


def _structure(round: Round, cell: IndexedTensor, branches: list[EquationBranch]) -> val.Value:
    """A tree with the structure of all branches. Raises `Failure`."""
    try:
        return _skeleton(tuple(b.value for b in branches))
    except _StructureMismatch as mismatch:
        first, other = (branches[k] for k in mismatch.which)
    sure = [b for b in branches if not doubt_of(b.value)]
    if 0 < len(sure) < len(branches):
        round.deferred = True
        return _structure(round, cell, sure)
    raise Failure(
        type_errors.branch_structure(
            other.placement.target.span,
            cell.plan.name,
            first.value,
            other.value,
            first.placement.target.span,
        )
    )


class _StructureMismatch(Exception):
    """Two of the trees differ in their structure."""

    def __init__(self, first: int, other: int) -> None:
        super().__init__()
        self.which = (first, other)


def _skeleton(values: tuple[val.Value, ...]) -> val.Value:
    """A tree with the common structure of all values. Raises `_StructureMismatch`."""
    open_ended = [
        k for k, v in enumerate(values) if isinstance(v, (val.Unknown, val.ConstantNumber))
    ]
    firm = [k for k in range(len(values)) if k not in open_ended]
    if not firm:
        return values[0]
    first = values[firm[0]]
    for k in firm[1:]:
        if _form(values[k]) != _form(first):
            raise _StructureMismatch(firm[0], k)
    if isinstance(first, val.RecordValue):
        return val.RecordValue(tuple((n, _skeleton(_parts(values, n))) for n in first.names))
    if isinstance(first, val.Listing):
        counts = range(len(first.items))
        return val.Listing(tuple(_skeleton(_parts(values, str(k))) for k in counts))
    return first


def _form(value: val.Value) -> tuple[str, ...]:
    if isinstance(value, val.RecordValue):
        return ("record", *sorted(value.names))
    return ("list", str(len(value.items))) if isinstance(value, val.Listing) else ()


def _parts(values: tuple[val.Value, ...], step: str) -> tuple[val.Value, ...]:
    return tuple(val.leaf_at(v, (step,)) for v in values)


@dataclass(frozen=True, slots=True)
class _BranchLeaf:
    """A leaf of a branch: its type in the tensor's coordinates."""

    branch: EquationBranch
    type: TensorType
    literal: bool
    doubt: Doubt


def _part(branch: EquationBranch, value: val.Value) -> _BranchLeaf:
    place = branch.placement
    type = apply.type_of(value, place.target.span)
    inverted = inverse(place)
    shape = tuple(substitute(e, inverted) for e in type.shape)
    literal = is_literal(value)
    return _BranchLeaf(branch, TensorType(type.dtype, shape, type.weak), literal, doubt_of(value))


def _join(round: Round, cell: IndexedTensor, parts: list[_BranchLeaf], early: bool) -> val.Typed:
    """The type of a leaf; `early` if some branches are unknown. Raises `Failure`."""
    early = early or any(p.doubt for p in parts)
    sure = [p for p in parts if not p.literal and p.doubt < Doubt.SHAPE]
    dtype, weak = _promoted(round, parts)
    if sure:
        shape = _shape(round, cell, sure)
        _check_lower_bounds(round, shape, parts)
    else:
        shape = _lower_bound(round, [p for p in parts if not p.literal])
    doubt = (Doubt.DTYPE if sure else Doubt.SHAPE) if early else Doubt.NONE
    type = TensorType(dtype, shape, weak and _one_dtype(parts, dtype))
    return val.Typed(type, Doubt.NONE if cell.key in round.assumed else doubt)


def _promoted(round: Round, parts: list[_BranchLeaf]) -> tuple[DType, bool]:
    try:
        return promote(p.type for p in parts)
    except OperandError as error:
        sure = [p for p in parts if not p.doubt]
        if 0 < len(sure) < len(parts):
            round.deferred = True
            return _promoted(round, sure)
        place = parts[-1].branch.placement
        raise Failure(type_errors.operands(place.target.span, error.message, error.help)) from None


def _shape(round: Round, cell: IndexedTensor, parts: list[_BranchLeaf]) -> Shape:
    """The common shape of all branches, each where it is used. Raises `Failure` if there is none.

    A branch for a few points may have a less general expression for the shape, so every branch is a
    candidate; those over more dimensions come first.
    """
    ordered = sorted(parts, key=lambda p: -len(p.branch.placement.dims))
    clashes = []
    for first in ordered:
        other = next((p for p in ordered if not _fits(round, first.type.shape, p)), None)
        if other is None:
            return first.type.shape
        clashes.append((first, other))
    first, other = clashes[0]
    place, span = other.branch.placement, first.branch.placement.target.span
    shown, own = (source_type(place, p.type) for p in (first, other))
    if shown.shape == own.shape:  # equal where it is used, but that is more than can be proved
        shown = first.type
    raise Failure(type_errors.branch_types(place.target.span, cell.plan.name, shown, own, span))


def _fits(round: Round, shape: Shape, part: _BranchLeaf) -> bool:
    """Whether a branch has this shape at all points at which it is used."""
    facts = FrameFacts(round, part.branch.placement.used)
    return shape == part.type.shape or same_shape(shape, part.type.shape, facts)


def _check_lower_bounds(round: Round, shape: Shape, parts: list[_BranchLeaf]) -> None:
    """Defer if the lower bound of a branch's shape is still below the shape."""
    for part in parts:
        if not part.literal and part.doubt is Doubt.SHAPE and not _fits(round, shape, part):
            round.deferred = True


def _lower_bound(round: Round, parts: list[_BranchLeaf]) -> Shape:
    """The broadcast of the shapes' lower bounds; the first one if they are incompatible."""
    if not parts:
        return ()
    try:
        shape = broadcast([p.type.shape for p in parts], FrameFacts(round, ix.TRUE))
    except OperandError:
        round.deferred = True
        return parts[0].type.shape
    _check_lower_bounds(round, shape, parts)
    return shape


def _one_dtype(parts: list[_BranchLeaf], dtype: DType) -> bool:
    """Whether no branch needs a cast, whose result would not be weak; lower bounds may yet grow."""
    return all(p.literal or p.doubt or p.type.dtype is dtype for p in parts)
