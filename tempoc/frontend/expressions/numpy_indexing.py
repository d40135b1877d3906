"""Lowers written indices to ``SpatialIndex``: negative indices and clamping as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tempoc.ops.definition.operator import OperandError, ShapeFacts
from tempoc.ops.definition.shapes import Shape, shape_text
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.symbolic.expr import (
    ONE,
    ZERO,
    Const,
    Expr,
    add,
    compare,
    conjunction,
    maximum,
    minimum,
    sub,
)  # fmt: skip
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import ceildiv


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRange:
    """``lo:hi:step`` as written; what is left out is ``None``."""

    lo: Expr | None = None
    hi: Expr | None = None
    step: int = 1


IndexEntry = Expr | SliceRange | Literal["tensor"]
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


def _part(written: IndexEntry, n: Expr, axis: int, facts: ShapeFacts) -> IndexPart:
    match written:
        case "tensor":
            return "tensor"
        case SliceRange():
            return _range(written, n, facts)
        case _:
            return _point(written, n, axis, facts)


def _point(e: Expr, n: Expr, axis: int, facts: ShapeFacts) -> Expr:
    place = add(n, e) if isinstance(e, Const) and e.value < 0 else e
    inside = conjunction(compare(">=", place, ZERO), compare("<", place, n))
    if not facts.holds(inside):
        unsure = "is" if isinstance(e, Const) and isinstance(n, Const) else "can be"
        raise OperandError(
            f"index {show(e)} {unsure} out of range for axis {axis} of extent {show(n)}"
        )
    return place


def _range(written: SliceRange, n: Expr, facts: ShapeFacts) -> tuple[Expr, Expr, int]:
    step = written.step
    if step == 0:
        raise OperandError("a slice takes no step of 0")
    if step > 0:
        lo = _clamped(written.lo, ZERO, ZERO, n, n, facts)
        hi = _clamped(written.hi, n, ZERO, n, n, facts)
        count = ceildiv(sub(hi, lo), step)
    else:
        last = sub(n, ONE)
        lo = _clamped(written.lo, last, Const(-1), last, n, facts)
        hi = _clamped(written.hi, Const(-1), Const(-1), last, n, facts)
        count = ceildiv(sub(lo, hi), -step)
    return lo, _at_least(count, ZERO, facts), step


def _clamped(
    e: Expr | None, default: Expr, lowest: Expr, highest: Expr, n: Expr, facts: ShapeFacts
) -> Expr:
    """A bound of a slice, moved into ``lowest .. highest``."""
    if e is None:
        return default
    if isinstance(e, Const) and e.value < 0:
        e = add(n, e)
    elif not facts.holds(compare(">=", e, ZERO)):
        raise OperandError(
            f"{show(e)} in a spatial slice can be negative", help=f"write max({show(e)}, 0)"
        )
    if facts.holds(compare("<=", e, highest)):
        return _at_least(e, lowest, facts)
    if facts.holds(compare(">=", e, highest)):
        return highest
    return _at_least(minimum(e, highest), lowest, facts)


def _at_least(e: Expr, lowest: Expr, facts: ShapeFacts) -> Expr:
    return e if facts.holds(compare(">=", e, lowest)) else maximum(e, lowest)
