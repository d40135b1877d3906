"""Writing an element, row or plane by position, alone or into a sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same, broadcast_axes
from tempoc.ops.definition.dtype_text import cast
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import common, promote
from tempoc.ops.definition.shapes import (
    Shape,
    axis_of,
    broadcast,
    require,
    same_shape,
    shape_text,
    without,
)
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.indexing.indexing import checked, placed, require_integers
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class Put(Op):
    """``put(x, idx, v, axis)``: ``x`` with ``v`` at one position of an axis.

    ``idx`` is one integer, ``v`` broadcasts to the shape of ``x`` without the axis. A position that
    is ``sure`` is known to be there; of others, negative ones count from the end, and one that is
    outside stops the run. XLA writes in place where nothing else reads what was there.
    """

    axis: int = 0
    sure: bool = False

    name = "put"
    promotes = True
    changes_part = True

    @property
    def checks(self) -> bool:
        """Whether the position is data that may be outside."""
        return not self.sure

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape of ``x``; the promoted dtype of ``x`` and ``v``."""
        require(args, 3, self.name)
        x, idx, v = args
        require_integers(idx, self.name)
        axis = axis_of(self.axis, x.ndim)
        rest = without(x.shape, (axis,))
        if idx.shape:
            raise OperandError(
                f"put takes one position, not {shape_text(idx.shape)}",
                help="`segment_sum` adds at several positions",
            )
        if not _broadcasts(v.shape, rest, facts):
            raise OperandError(
                f"put takes {shape_text(rest)} for axis {axis} of shape {shape_text(x.shape)}, "
                f"not {shape_text(v.shape)}"
            )
        dtype, weak = promote((x, v))
        return (TensorType(dtype, x.shape, weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element that is written."""
        return ix.product(args[2].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """A copy, changed. ``OperandError`` for a position outside."""
        x, idx, v = args
        axis = axis_of(self.axis, x.ndim)
        x, v = common((x, v))
        result = x.copy()
        np.moveaxis(result, axis, 0)[int(checked(idx, x.shape[axis], axis))] = v
        return (result,)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the one that the position is along."""
        own = axis_of(self.axis, args[0].ndim)
        rest = without(args[0].shape, (own,))
        for axis in range(len(rest)):
            places = broadcast_axes([rest, args[2].shape], rest, axis, same)
            if places is not None:
                there = axis + (axis >= own)
                yield Link((there, None, places[1]), (there,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A scatter of one row."""
        (result,) = results
        axis = axis_of(self.axis, result.ndim)
        goal = pads.padded(result.shape, out)
        x = pads.converted(pads.aligned_to(args[0], goal, out), result.dtype, out)
        v = pads.aligned_to(args[2], without(goal, (axis,)), out)
        idx = pads.with_own_padding(args[1], out)
        position = placed(idx, result.shape[axis], axis, self.sure, out)
        leading = "".join(":, " for _ in range(axis))
        value = cast(v.text, v.type.dtype, result.dtype)
        return (f"{x.text}.at[{leading}{position}].set({value})",)


def _broadcasts(shape: Shape, goal: Shape, facts: ShapeFacts) -> bool:
    try:
        return same_shape(broadcast([goal, shape], facts), goal, facts)
    except OperandError:
        return False


PUT_INTO_SUM = '''\
def put_into_sum(x, other, position, value, axis):
    """`x + other`, and `value` at a position along an axis, which `other` does not have.

    `other` is zeros but after an overflow. CPUs look whether it is, and add it row by row: XLA then
    changes `x` in place, though `value` depends on it.
    """
    if jax.default_backend() != "cpu":
        x = x + jnp.expand_dims(other, axis)
        return x.at[(slice(None),) * axis + (position,)].set(value)

    def add(k, x):
        row = lax.dynamic_index_in_dim(x, k, axis, False) + other
        return lax.dynamic_update_index_in_dim(x, jnp.where(k == position, value, row), k, axis)

    rows = jnp.where(jnp.any(other != 0), x.shape[axis], 0)
    x = lax.fori_loop(0, rows, add, x)
    return x.at[(slice(None),) * axis + (position,)].set(value)
'''
"""Stands in front of kernels with a ``put_into_sum``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutIntoSum(Op):
    """``x + other``, and ``v`` at one position ``idx`` of axis ``axis``, for passes.

    ``other``, nearly always zero, and ``v`` have the shape of ``x`` without the axis. The position
    is known to be there.
    """

    axis: int = 0

    name = "put_into_sum"
    changes_part = True
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The type of ``x``."""
        require(args, 4, self.name)
        x, other, idx, v = args
        axis = axis_of(self.axis, x.ndim)
        rest = without(x.shape, (axis,))
        require_integers(idx, self.name)
        fits = all(same_shape(part.shape, rest, facts) for part in (other, v))
        if idx.shape or not fits or {other.dtype, v.dtype} != {x.dtype}:
            raise OperandError(f"{self.name} takes two rows and one position of {shape_text(rest)}")
        return (TensorType(x.dtype, x.shape, x.weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """A comparison with zero of each element of a row."""
        return ix.product(args[1].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """All of the sum, then the row."""
        x, other, idx, v = args
        axis = axis_of(self.axis, x.ndim)
        result = x + np.expand_dims(other, axis)
        np.moveaxis(result, axis, 0)[int(checked(idx, x.shape[axis], axis))] = v
        return (result,)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the one that the position is along."""
        own = axis_of(self.axis, args[0].ndim)
        for axis in range(args[0].ndim):
            if axis != own:
                row = axis - (axis > own)
                yield Link((axis, row, None, row), (axis,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A call of a helper."""
        (result,) = results
        axis = axis_of(self.axis, result.ndim)
        goal = pads.padded(result.shape, out)
        x = pads.aligned_to(args[0], goal, out)
        row = without(goal, (axis,))
        other, v = (pads.aligned_to(part, row, out) for part in (args[1], args[3]))
        idx = pads.with_own_padding(args[2], out)
        position = placed(idx, result.shape[axis], axis, True, out)
        return (f"put_into_sum({x.text}, {other.text}, {position}, {v.text}, {axis})",)
