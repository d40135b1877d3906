"""Lowers written indices to ``SpatialIndex``: negative indices and clamping as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tempoc.ops.definition.operator import OperandError, ShapeFacts
from tempoc.ops.definition.shapes import Shape, shape_text
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import ceildiv, is_affine


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRange:
    """``lo:hi:step`` as written; what is left out is ``None``."""

    lo: ix.Expr | None = None
    hi: ix.Expr | None = None
    step: int = 1


IndexEntry = ix.Expr | SliceRange | Literal["tensor"]
"""A point, a slice, or the place of the integer tensor that is the second operand."""


def spatial_index(shape: Shape, written: Sequence[IndexEntry], facts: ShapeFacts) -> SpatialIndex:
    """The index of a tensor of this shape; axes without an entry are full.

    Negative constants count from the end; slices are clamped to the axis. Raises ``OperandError``
    for a point that is not provably in bounds, a bound of a slice that may be negative without
    being constant, a step of 0, or more entries than axes.
    """
    if len(written) > len(shape):
        axes = "axis" if len(shape) == 1 else "axes"
        raise OperandError(
            f"shape {shape_text(shape)} has {len(shape)} {axes}, not {len(written)} to index"
        )
    if list(written).count("tensor") > 1:
        raise OperandError("one integer tensor can stand in an index, not more")
    full_ranges = [SliceRange()] * (len(shape) - len(written))
    parts = zip([*written, *full_ranges], shape, range(len(shape)), strict=True)
    return SpatialIndex(entries=tuple(_part(w, n, axis, facts) for w, n, axis in parts))


def _part(written: IndexEntry, n: ix.Expr, axis: int, facts: ShapeFacts) -> IndexPart:
    match written:
        case "tensor":
            return "tensor"
        case SliceRange():
            return _range(written, n, facts)
        case _:
            return _point(written, n, axis, facts)


def _point(e: ix.Expr, n: ix.Expr, axis: int, facts: ShapeFacts) -> ix.Expr:
    place = ix.add(n, e) if isinstance(e, ix.Const) and e.value < 0 else e
    inside = ix.conjunction(ix.compare(">=", place, ix.ZERO), ix.compare("<", place, n))
    if not facts.holds(inside):
        unsure = "is" if isinstance(e, ix.Const) and isinstance(n, ix.Const) else "can be"
        raise OperandError(
            f"index {show(e)} {unsure} out of range for axis {axis} of extent {show(n)}",
            help=None
            if is_affine(e)
            else f"nothing is proved of products of bounds: as a tensor, `i32({show(e)})`, the "
            "index is checked when the program runs",
        )
    return place


def _range(written: SliceRange, n: ix.Expr, facts: ShapeFacts) -> tuple[ix.Expr, ix.Expr, int]:
    step = written.step
    if step == 0:
        raise OperandError("a slice takes no step of 0")
    if step > 0:
        lo = _clamped(written.lo, ix.ZERO, ix.ZERO, n, n, facts)
        hi = _clamped(written.hi, n, ix.ZERO, n, n, facts)
        count = ceildiv(ix.sub(hi, lo), step)
    else:
        last = ix.sub(n, ix.ONE)
        lo = _clamped(written.lo, last, ix.Const(-1), last, n, facts)
        hi = _clamped(written.hi, ix.Const(-1), ix.Const(-1), last, n, facts)
        count = ceildiv(ix.sub(lo, hi), -step)
    return lo, _at_least(count, ix.ZERO, facts), step


def _clamped(
    e: ix.Expr | None,
    default: ix.Expr,
    lowest: ix.Expr,
    highest: ix.Expr,
    n: ix.Expr,
    facts: ShapeFacts,
) -> ix.Expr:
    """A bound of a slice, moved into ``lowest .. highest``."""
    if e is None:
        return default
    if isinstance(e, ix.Const) and e.value < 0:
        e = ix.add(n, e)
    elif not facts.holds(ix.compare(">=", e, ix.ZERO)):
        raise OperandError(
            f"{show(e)} in a spatial slice can be negative", help=f"write max({show(e)}, 0)"
        )
    if facts.holds(ix.compare("<=", e, highest)):
        return _at_least(e, lowest, facts)
    if facts.holds(ix.compare(">=", e, highest)):
        return highest
    return _at_least(ix.minimum(e, highest), lowest, facts)


def _at_least(e: ix.Expr, lowest: ix.Expr, facts: ShapeFacts) -> ix.Expr:
    return e if facts.holds(ix.compare(">=", e, lowest)) else ix.maximum(e, lowest)
