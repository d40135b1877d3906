"""Combining elements by position: sums, which gathering becomes when differentiated; extremes.

Sums are made alone, or added to what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same
from tempoc.ops.definition.dtype_text import cast, dtype_of, jax_dtype, ufunc
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Monoid,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import widened
from tempoc.ops.definition.shapes import axis_of, require, same_shape, shape_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.indexing.indexing import checked, placed, require_integers
from tempoc.ops.tensor.monoids import MAX, MIN, SUM
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(Op):
    """At each of ``n`` positions, the elements that ``idx`` sends there, combined by the monoid.

    The axes of ``idx`` are axes ``axis``, ``axis + 1``, ... of ``x``; one axis of extent ``n``
    takes their place. Where nothing is sent stands the identity of the monoid. Positions that are
    ``sure`` are known to be there; of others, negative ones count from the end, and one that is
    outside stops the run. ``jax`` names the method that combines, ``called`` the function of the
    language.
    """

    axis: int
    n: ix.Expr
    sure: bool = False

    heavy = True
    jax: ClassVar[str]
    called: ClassVar[str]
    refused: ClassVar[tuple[DType, ...]] = (DType.KEY,)

    @property
    def checks(self) -> bool:
        """Whether positions are data that may be outside."""
        return not self.sure

    def own(self) -> Monoid:
        """The monoid, which every one of these operators has."""
        assert self.monoid is not None
        return self.monoid

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """One axis in the place of those of the positions."""
        require(args, 2, self.name)
        x, idx = args
        require_integers(idx, self.called)
        if x.dtype in self.refused:
            raise OperandError(f"{self.called} takes numbers, not {x.dtype.value}")
        axis = axis_of(self.axis, x.ndim + 1)
        if not same_shape(x.shape[axis : axis + idx.ndim], idx.shape, facts):
            raise OperandError(
                f"{self.called} takes a position for each row of {shape_text(x.shape)}, "
                f"not {shape_text(idx.shape)}"
            )
        shape = (*x.shape[:axis], self.n, *x.shape[axis + idx.ndim :])
        return (TensorType(x.dtype, shape, x.weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element of the operand."""
        return ix.product(args[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Halves are combined in single precision."""
        x, idx = args
        axis = axis_of(self.axis, x.ndim + 1)
        wide = widened(x)
        n = evaluate(self.n, at)
        moved = np.moveaxis(wide, range(axis, axis + idx.ndim), range(idx.ndim))
        nothing = self.own().identity(dtype_of(wide.dtype))
        result = np.full((n, *moved.shape[idx.ndim :]), nothing, wide.dtype)
        flat = moved.reshape((idx.size, *moved.shape[idx.ndim :]))
        ufunc(self.own().numpy).at(result, checked(idx, n, axis).ravel(), flat)
        return (np.moveaxis(result, 0, axis).astype(x.dtype),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """What is sent to positions is combined over the axes of the positions."""
        x, positions = args
        first = axis_of(self.axis, results[0].ndim)
        for axis in range(x.ndim):
            if first <= axis < first + positions.ndim:
                yield Link((axis, axis - first), (None,))
            else:
                yield Link((axis, None), (axis if axis < first else axis - positions.ndim + 1,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """What stands in padding counts as the identity."""
        (result,) = results
        x, idx = (pads.with_own_padding(v, out) for v in args)
        axis, wide = axis_of(self.axis, x.type.ndim + 1), result.dtype.wide
        x = pads.converted(x, wide, out)
        text = _sent(x, idx, axis, self.own().neutral(wide), out)
        positions = placed(idx, self.n, axis, self.sure, out)
        shape = pads.static_shape(pads.padded(result.shape, out), out)
        target = f"{self.nothing(shape, wide)}.at[{':, ' * axis}{positions}]"
        return (cast(f'{target}.{self.jax}({text}, mode="drop")', wide, result.dtype),)

    def nothing(self, shape: str, dtype: DType) -> str:
        """The result without any element, in emitted code."""
        return f"jnp.full({shape}, {self.own().neutral(dtype)})"


class ScatterAdd(Scatter):
    """``scatter_add(x, idx)``: sums, 0 of nothing; the opposite of ``take(y, idx, axis)``."""

    __slots__ = ()
    name, jax, called = "scatter_add", "add", "segment_sum"
    monoid = SUM
    overflows = True
    refused = (DType.BOOL, DType.KEY)

    def nothing(self, shape: str, dtype: DType) -> str:
        """Zeros."""
        return f"jnp.zeros({shape}, {jax_dtype(dtype)})"


class ScatterMax(Scatter):
    """``scatter_max(x, idx)``: the greatest, the least number of the dtype of nothing."""

    __slots__ = ()
    name, jax, called = "scatter_max", "max", "segment_max"
    monoid = MAX


class ScatterMin(Scatter):
    """``scatter_min(x, idx)``: the least, the greatest number of the dtype of nothing."""

    __slots__ = ()
    name, jax, called = "scatter_min", "min", "segment_min"
    monoid = MIN


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAt(Op):
    """``x + scatter_add(v, idx)``, for passes: ``x`` with what ``idx`` sends added to it.

    The positions are as those of ``Scatter``, and ``x`` has the type of its result. XLA adds in
    place where nothing else reads what was there.
    """

    axis: int = 0
    sure: bool = False

    name = "add_at"
    heavy = changes_part = overflows = True
    differentiable = False

    @property
    def checks(self) -> bool:
        """Whether positions are data that may be outside."""
        return not self.sure

    def _sum(self, x: TensorType) -> ScatterAdd:
        """The sum that is added."""
        axis = axis_of(self.axis, x.ndim)
        return ScatterAdd(axis=axis, n=x.shape[axis], sure=self.sure)

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The type of ``x``."""
        require(args, 3, self.name)
        x, idx, v = args
        (added,) = self._sum(x).infer((v, idx), facts)
        if added.dtype is not x.dtype or not same_shape(added.shape, x.shape, facts):
            raise OperandError(f"{self.name} adds {shape_text(added.shape)} to the same type")
        return (TensorType(x.dtype, x.shape, x.weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element that is sent."""
        return ix.product(args[2].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The sum of both."""
        x, idx, v = args
        axis = axis_of(self.axis, x.ndim)
        n = ix.Const(x.shape[axis])
        (added,) = ScatterAdd(axis=axis, n=n, sure=self.sure).evaluate((v, idx), at)
        return ((x + added).astype(x.dtype),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """Those of the sum but for the axes of the positions, beside the axis of ``x``."""
        x, idx, v = args
        for link in self._sum(x).links((v, idx), results, same):
            if link.results != (None,):
                yield Link((link.results[0], None, link.operands[0]), link.results)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """What stands in padding adds nothing."""
        (result,) = results
        x = pads.aligned_to(args[0], pads.padded(result.shape, out), out)
        idx, v = (pads.with_own_padding(a, out) for a in args[1:])
        axis = axis_of(self.axis, result.ndim)
        text = _sent(v, idx, axis, SUM.neutral(result.dtype), out)
        positions = placed(idx, result.shape[axis], axis, self.sure, out)
        return (f'{x.text}.at[{":, " * axis}{positions}].add({text}, mode="drop")',)


def _sent(v: EmittedValue, idx: EmittedValue, axis: int, neutral: str, out: Emitter) -> str:
    """The elements that positions send, from an axis on; ``neutral`` in padding."""
    rank = idx.type.ndim
    goal = list(v.padded)
    goal[axis : axis + rank] = idx.padded
    return out.masked(out.align(v, tuple(goal)), tuple(range(axis, axis + rank)), neutral)
