"""Adding up elements by position: what gathering becomes when it is differentiated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same
from tempoc.ops.definition.dtype_text import cast, jax_dtype, scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import widened
from tempoc.ops.definition.shapes import axis_of, require, same_shape, shape_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.indexing.indexing import checked, placed, require_integers
from tempoc.ops.tensor.monoids import SUM
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterAdd(Op):
    """``scatter_add(x, idx)``: the sum, at each of ``n`` positions, of what ``idx`` sends there.

    The axes of ``idx`` are axes ``axis``, ``axis + 1``, ... of ``x``; one axis of extent ``n``
    takes their place. The opposite of ``take(y, idx, axis)``. Positions that are ``sure`` are known
    to be there.
    """

    axis: int
    n: ix.Expr
    sure: bool = False

    name = "scatter_add"
    heavy = True
    monoid = SUM

    @property
    def checks(self) -> bool:
        """Whether positions are data that may be outside."""
        return not self.sure

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """One axis in the place of those of the positions."""
        require(args, 2, self.name)
        x, idx = args
        require_integers(idx, self.name)
        if x.dtype in (DType.BOOL, DType.KEY):
            raise OperandError(f"{self.name} adds numbers, not {x.dtype.value}")
        axis = axis_of(self.axis, x.ndim + 1)
        if not same_shape(x.shape[axis : axis + idx.ndim], idx.shape, facts):
            raise OperandError(
                f"axes {axis} to {axis + idx.ndim - 1} of shape {shape_text(x.shape)} "
                f"are not those of the positions {shape_text(idx.shape)}"
            )
        shape = (*x.shape[:axis], self.n, *x.shape[axis + idx.ndim :])
        return (TensorType(x.dtype, shape, x.weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element of the operand."""
        return ix.product(args[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Halves are summed in single precision."""
        x, idx = args
        axis = axis_of(self.axis, x.ndim + 1)
        wide = widened(x)
        n = evaluate(self.n, at)
        moved = np.moveaxis(wide, range(axis, axis + idx.ndim), range(idx.ndim))
        result = np.zeros((n, *moved.shape[idx.ndim :]), wide.dtype)
        flat = moved.reshape((idx.size, *moved.shape[idx.ndim :]))
        np.add.at(result, checked(idx, n, axis).ravel(), flat)
        return (np.moveaxis(result, 0, axis).astype(x.dtype),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """What is sent to positions is summed over the axes of the positions."""
        x, positions = args
        first = axis_of(self.axis, results[0].ndim)
        for axis in range(x.ndim):
            if first <= axis < first + positions.ndim:
                yield Link((axis, axis - first), (None,))
            else:
                yield Link((axis, None), (axis if axis < first else axis - positions.ndim + 1,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """What stands in padding is added as 0."""
        (result,) = results
        x, idx = (pads.with_own_padding(v, out) for v in args)
        axis, rank = axis_of(self.axis, x.type.ndim + 1), idx.type.ndim
        wide = result.dtype.wide
        x = pads.converted(x, wide, out)
        goal = list(x.padded)
        goal[axis : axis + rank] = idx.padded
        x = out.align(x, tuple(goal))
        text = out.masked(x, tuple(range(axis, axis + rank)), scalar(0, wide))
        positions = placed(idx, self.n, axis, self.sure, out)
        shape = pads.static_shape(pads.padded(result.shape, out), out)
        leading = "".join(":, " for _ in range(axis))
        target = f"jnp.zeros({shape}, {jax_dtype(wide)}).at[{leading}{positions}]"
        return (cast(f'{target}.add({text}, mode="drop")', wide, result.dtype),)
