"""Running reductions along one axis, from the front or, with ``reverse``, from the end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tempoc.ops.definition.dtype_text import cast, dtype_of, greatest, least, scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.padding import converted, with_own_padding
from tempoc.ops.definition.promotion import PromotedType, inexact, kind_of, numeric
from tempoc.ops.definition.shapes import axis_of, require
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.reduction import HALVES
from tempoc.symbolic.expr import Expr, product


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Op):
    """Each element combined with all before it. ``jax`` names the function of ``lax``.

    Garbage at the end of a ragged axis comes after all that is valid, so it is masked only when the
    scan starts there.
    """

    axis: int = 0
    reverse: bool = False

    jax: ClassVar[str]
    numpy: ClassVar[np.ufunc]

    @abstractmethod
    def neutral(self, dtype: DType) -> str:
        """The neutral element in emitted code."""

    def kind(self, operand: PromotedType) -> PromotedType:
        """``bool`` is counted."""
        return numeric(operand)

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The operand's shape."""
        require(args, 1, self.name)
        axis_of(self.axis, args[0].ndim)
        dtype, weak = self.kind(kind_of(args[0]))
        return (TensorType(dtype, args[0].shape, weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> Expr:
        """One for each element of the operand."""
        return product(args[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy; the array is turned around for ``reverse``."""
        x = args[0].astype(np.int32) if args[0].dtype == np.bool_ else args[0]
        wide = x.astype(np.float32) if dtype_of(x.dtype) in HALVES else x
        if self.reverse:
            wide = np.flip(wide, self.axis)
        with np.errstate(all="ignore"):
            y = np.asarray(self.numpy.accumulate(wide, axis=self.axis, dtype=wide.dtype))
        if self.reverse:
            y = np.flip(y, self.axis)
        return (y.astype(x.dtype),)

    def emit(
        self, args: tuple[EmittedValue, ...], results: tuple[TensorType, ...], out: Emitter
    ) -> tuple[str, ...]:
        """Half precision is accumulated in single precision and rounded at the end."""
        dtype = results[0].dtype
        wide = DType.F32 if dtype in HALVES else dtype
        v = converted(with_own_padding(args[0], out), wide, out)
        axis = axis_of(self.axis, v.type.ndim)
        x = out.masked(v, (axis,), self.neutral(wide)) if self.reverse else v.text
        text = f"{self.jax}({x}, axis={axis}{', reverse=True' if self.reverse else ''})"
        return (cast(text, wide, dtype),)


@dataclass(frozen=True, slots=True, kw_only=True)
class CumSum(Scan):
    """The sums of all elements so far; integers wrap around."""

    name, jax, numpy = "cumsum", "lax.cumsum", np.add

    def neutral(self, dtype: DType) -> str:
        """0."""
        return scalar(0, dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class CumProd(Scan):
    """The products of all elements so far; integers wrap around."""

    name, jax, numpy = "cumprod", "lax.cumprod", np.multiply

    def neutral(self, dtype: DType) -> str:
        """1."""
        return scalar(1, dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class CumMax(Scan):
    """The greatest of all elements so far; NaN from the first one on."""

    name, jax, numpy = "cummax", "lax.cummax", np.maximum

    def neutral(self, dtype: DType) -> str:
        """Nothing is smaller."""
        return least(dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class CumMin(Scan):
    """The least of all elements so far; NaN from the first one on."""

    name, jax, numpy = "cummin", "lax.cummin", np.minimum

    def neutral(self, dtype: DType) -> str:
        """Nothing is greater."""
        return greatest(dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class CumLogSumExp(Scan):
    """``log(sum(exp(x)))`` of all elements so far, without overflow. Floating point alone."""

    name, jax, numpy = "cumlogsumexp", "lax.cumlogsumexp", np.logaddexp

    def kind(self, operand: PromotedType) -> PromotedType:
        """That of the operand."""
        if inexact(operand) != operand:
            raise OperandError(f"cumlogsumexp takes floating point, not {operand[0].value}")
        return operand

    def neutral(self, dtype: DType) -> str:
        """The logarithm of 0."""
        return least(dtype)
