"""Queries on symbolic shapes shared by operators, and the messages of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.ops.definition.operator import OperandError, ShapeFacts
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.text import show

NO_AXIS = "a scalar has no axis"
"""How the message begins where an axis of a scalar is named."""

Shape = tuple[ix.Expr, ...]


def shape_text(shape: Shape) -> str:
    """A shape as a person writes it, ``[t+1, 64]``."""
    return f"[{', '.join(show(e) for e in shape)}]"


def type_text(type: TensorType) -> str:
    """A type as a person writes it, ``f32[t+1, 64]``."""
    shape = type.shape[:-1] if type.dtype is DType.KEY else type.shape  # not its two words
    return type.dtype.value + (shape_text(shape) if shape else "")


def same(a: ix.Expr, b: ix.Expr, facts: ShapeFacts) -> bool:
    """Whether two extents agree at all points."""
    return a == b or facts.equal(a, b)


def same_shape(a: Shape, b: Shape, facts: ShapeFacts) -> bool:
    """Whether two shapes agree at all points."""
    return len(a) == len(b) and all(same(x, y, facts) for x, y in zip(a, b, strict=True))


def is_one(e: ix.Expr, facts: ShapeFacts) -> bool:
    """Whether an extent is 1 at all points, so that its axis broadcasts."""
    return e == ix.ONE or (not isinstance(e, ix.Const) and facts.equal(e, ix.ONE))


def broadcast(shapes: Sequence[Shape], facts: ShapeFacts) -> Shape:
    """The shape that all broadcast to, as in NumPy. ``OperandError`` names extents that clash."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[ix.Expr] = []
    for axis in range(-rank, 0):
        meeting = [s[axis] for s in shapes if -axis <= len(s)]
        wide = [e for e in dict.fromkeys(meeting) if e != ix.ONE]
        if len(wide) > 1:  # only now is a proof worth its time
            wide = [e for e in wide if not is_one(e, facts)]
        for e in wide[1:]:
            if not same(wide[0], e, facts):
                raise OperandError(
                    f"shapes {' and '.join(shape_text(s) for s in shapes)} do not broadcast: "
                    f"{show(wide[0])} is not {show(e)}",
                    help="extents that meet must be equal, or one of them 1",
                )
        result.append(wide[0] if wide else ix.ONE)
    return tuple(result)


def axis_of(axis: int, ndim: int) -> int:
    """The axis counted from the front. ``OperandError`` unless ``-ndim <= axis < ndim``."""
    if not -ndim <= axis < ndim:
        if ndim == 0:
            raise OperandError(f"{NO_AXIS} {axis}")
        raise OperandError(f"a tensor with {counted(ndim, 'axis', 'axes')} has no axis {axis}")
    return axis % ndim


def counted(count: int, one: str, several: str) -> str:
    """A number with its noun: ``1 axis``, ``2 axes``."""
    return f"{count} {one if count == 1 else several}"


def axes_of(axes: tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """The axes counted from the front, in order; ``None``: all. ``OperandError`` for doubles."""
    if axes is None:
        return tuple(range(ndim))
    numbers = [axis_of(a, ndim) for a in axes]
    for a in numbers:
        if numbers.count(a) > 1:
            raise OperandError(f"axis {a} is named twice")
    return tuple(sorted(numbers))


def require(args: tuple[TensorType, ...], count: int, name: str) -> None:
    """``OperandError`` unless there are ``count`` operands."""
    if len(args) != count:
        operands = counted(count, "operand", "operands")
        raise OperandError(f"{name} takes {operands}, not {len(args)}")


def without(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """The extents of the other axes."""
    return tuple(e for k, e in enumerate(shape) if k not in axes)


def is_smaller(a: Shape, b: Shape) -> bool:
    """Whether a shape has fewer elements: its extents are a proper subset of the other's."""
    remaining = [e for e in b if e != ix.ONE]
    for e in (e for e in a if e != ix.ONE):
        if e not in remaining:
            return False
        remaining.remove(e)
    return bool(remaining)


@lru_cache(MEMORY)
def constant_elements(shape: Shape) -> int | None:
    """The number of elements of a shape; ``None`` where an extent is not known."""
    count = ix.product(shape)
    return count.value if isinstance(count, ix.Const) else None


def has_fewer_elements(a: Shape, b: Shape) -> bool:
    """Whether a shape probably has fewer elements, also if no extent of it is one of the other's.

    Extents that both have are left out. The others that depend on bounds count as what unknown
    bounds are estimated to be, so that a few constant ones are less than one of them.
    """
    own, others = list(a), list(b)
    for extent in a:
        if extent in others:
            own.remove(extent)
            others.remove(extent)
    fewer, more = (
        prod(e.value if isinstance(e, ix.Const) else MODEL.unknown_bound for e in s)
        for s in (own, others)
    )
    return fewer < more or (fewer == more and bool(others))
