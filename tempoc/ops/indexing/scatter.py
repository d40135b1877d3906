"""Adding up elements by position: what gathering becomes when it is differentiated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tempoc.ops.definition.dtype_text import cast, dtype_of, jax_dtype, scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.padding import converted, padded, static_shape, with_own_padding
from tempoc.ops.definition.shapes import axis_of, require, same_shape, shape_text
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.indexing import checked, guarded, require_integers
from tempoc.ops.tensor.reduction import HALVES
from tempoc.symbolic.expr import Expr, product
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterAdd(Op):
    """``scatter_add(x, idx)``: the sum, at each of ``n`` positions, of what ``idx`` sends there.

    The axes of ``idx`` are axes ``axis``, ``axis + 1``, ... of ``x``; one axis of extent ``n``
    takes their place. The opposite of ``take(y, idx, axis)``.
    """

    axis: int
    n: Expr

    name = "scatter_add"

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

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> Expr:
        """One for each element of the operand."""
        return product(args[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Halves are summed in single precision."""
        x, idx = args
        axis = axis_of(self.axis, x.ndim + 1)
        wide = x.astype(np.float32) if dtype_of(x.dtype) in HALVES else x
        n = evaluate(self.n, at)
        moved = np.moveaxis(wide, range(axis, axis + idx.ndim), range(idx.ndim))
        result = np.zeros((n, *moved.shape[idx.ndim :]), wide.dtype)
        flat = moved.reshape((idx.size, *moved.shape[idx.ndim :]))
        np.add.at(result, checked(idx, n, axis).ravel(), flat)
        return (np.moveaxis(result, 0, axis).astype(x.dtype),)

    def emit(
        self, args: tuple[EmittedValue, ...], results: tuple[TensorType, ...], out: Emitter
    ) -> tuple[str, ...]:
        """What stands in padding is added as 0."""
        (result,) = results
        x, idx = (with_own_padding(v, out) for v in args)
        axis, rank = axis_of(self.axis, x.type.ndim + 1), idx.type.ndim
        wide = DType.F32 if result.dtype in HALVES else result.dtype
        x = converted(x, wide, out)
        goal = list(x.padded)
        goal[axis : axis + rank] = idx.padded
        x = out.align(x, tuple(goal))
        text = out.masked(x, tuple(range(axis, axis + rank)), scalar(0, wide))
        positions = guarded(idx, self.n, axis, out)
        shape = static_shape(padded(result.shape, out), out)
        leading = "".join(":, " for _ in range(axis))
        target = f"jnp.zeros({shape}, {jax_dtype(wide)}).at[{leading}{positions}]"
        return (cast(f'{target}.add({text}, mode="drop")', wide, result.dtype),)
