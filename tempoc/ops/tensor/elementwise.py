"""Functions of one number, applied to each element.

Functions of real numbers turn integers into ``f32``. Those that keep integers as they are (``abs``,
``floor``, ...) do so here too, as in NumPy. ``bf16`` and ``f16`` are computed in ``f32``.
"""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import cast, dtype_of, numpy_dtype, ufunc
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import PromotedType, inexact, kind_of, numeric, real, widened
from tempoc.ops.definition.shapes import require
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix


class Unary(Op):
    """One operand; the result has its shape.

    ``jax`` is the text of the result with ``{x}`` for the operand; ``numpy`` the function that
    ``compute`` calls, unless an operator spells it out.
    """

    __slots__ = ()
    elementwise = True
    jax: ClassVar[str]
    numpy: ClassVar[str]

    @abstractmethod
    def kind(self, operand: PromotedType) -> PromotedType:
        """The kind of the result. Raises ``OperandError``."""

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element."""
        return ix.product(results[0].shape)

    def compute(self, x: Array) -> Array:
        """The function itself, on an array of ``f32`` or wider, or of integers."""
        return np.asarray(ufunc(self.numpy)(x))

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The operand's shape."""
        require(args, 1, self.name)
        dtype, weak = self.kind(kind_of(args[0]))
        return (TensorType(dtype, args[0].shape, weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Half precision is computed in single precision, as XLA does."""
        (x,) = args
        half = dtype_of(x.dtype).is_half
        with np.errstate(all="ignore"):
            y = np.asarray(self.compute(widened(x)))
            rounds = half and y.dtype == np.float32
            return (y.astype(x.dtype) if rounds else y,)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """One call; padding stays where it is."""
        dtype = results[0].dtype
        x = out.align(args[0], pads.padded(results[0].shape, out))
        if dtype is not DType.BOOL:
            return (self.jax.format(x=cast(x.text, x.type.dtype, dtype)),)
        return (self.jax.format(x=x.text),)


class RealFunction(Unary):
    """A function of real numbers: integers become ``f32``."""

    __slots__ = ()
    transcendental = True

    def kind(self, operand: PromotedType) -> PromotedType:
        """Floating point."""
        return inexact(operand)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As a number of the operand's precision."""
        return Unary.evaluate(self, (real(args[0]),), at)


class NumberFunction(Unary):
    """A function that keeps the dtype, integer or not."""

    __slots__ = ()

    def kind(self, operand: PromotedType) -> PromotedType:
        """That of the operand, which must be a number."""
        if operand[0] in (DType.BOOL, DType.KEY):
            help = "convert with i32(x)" if operand[0] is DType.BOOL else None
            raise OperandError(f"{self.name} takes numbers, not {operand[0].value}", help=help)
        return operand


class Rounding(NumberFunction):
    """Integers are their own rounding."""

    __slots__ = ()
    differentiable = False

    def compute(self, x: Array) -> Array:
        """Older versions of NumPy turn integers into doubles."""
        return x if x.dtype.kind in "iu" else np.asarray(ufunc(self.numpy)(x))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Nothing to do for integers."""
        if results[0].dtype.is_float:
            return Unary.emit(self, args, results, out)
        return (out.align(args[0], pads.padded(results[0].shape, out)).text,)


class Negative(NumberFunction):
    """``-x``."""

    name, jax, numpy = "neg", "-{x}", "negative"
    in_double = operator.neg
    overflows = light = keeps_nan = True
    multilinear = True


class Abs(NumberFunction):
    """The distance from zero."""

    name, jax, numpy = "abs", "jnp.abs({x})", "abs"
    overflows = True


class Sign(NumberFunction):
    """-1, 0 or 1; NaN for NaN."""

    name, jax, numpy = "sign", "jnp.sign({x})", "sign"
    differentiable = False


class Relu(NumberFunction):
    """``max(x, 0)``."""

    name, jax = "relu", "jax.nn.relu({x})"

    def compute(self, x: Array) -> Array:
        """NaN stays NaN."""
        return np.asarray(np.maximum(x, x.dtype.type(0)))


class Floor(Rounding):
    """The greatest whole number that is not greater."""

    name, jax, numpy = "floor", "jnp.floor({x})", "floor"


class Ceil(Rounding):
    """The least whole number that is not less."""

    name, jax, numpy = "ceil", "jnp.ceil({x})", "ceil"


class RoundToEven(Rounding):
    """The nearest whole number, the even one of two."""

    name, jax, numpy = "round", "jnp.round({x})", "rint"


class Exp(RealFunction):
    """``e ** x``."""

    name, jax, numpy = "exp", "jnp.exp({x})", "exp"
    keeps_nan = True


class Exp2(RealFunction):
    """``2 ** x``."""

    name, jax, numpy = "exp2", "jnp.exp2({x})", "exp2"

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Half precision in single precision: XLA multiplies by ``log(2)``, and rounds before."""
        dtype = results[0].dtype
        if not dtype.is_half:
            return Unary.emit(self, args, results, out)
        x = out.align(args[0], pads.padded(results[0].shape, out))
        single = self.jax.format(x=cast(x.text, x.type.dtype, DType.F32))
        return (cast(single, DType.F32, dtype),)


class Log(RealFunction):
    """The natural logarithm; ``-inf`` at 0, NaN below."""

    name, jax, numpy = "log", "jnp.log({x})", "log"
    keeps_nan = True


class Log1p(RealFunction):
    """``log(1 + x)``, precise near 0."""

    name, jax, numpy = "log1p", "jnp.log1p({x})", "log1p"


class Expm1(RealFunction):
    """``exp(x) - 1``, precise near 0."""

    name, jax, numpy = "expm1", "jnp.expm1({x})", "expm1"


class Sqrt(RealFunction):
    """The square root; NaN below 0."""

    name, jax, numpy = "sqrt", "jnp.sqrt({x})", "sqrt"
    in_double = math.sqrt
    transcendental = False


class Rsqrt(RealFunction):
    """``1 / sqrt(x)``."""

    name, jax = "rsqrt", "lax.rsqrt({x})"
    transcendental = False

    def compute(self, x: Array) -> Array:
        """``inf`` at 0."""
        return np.asarray(x.dtype.type(1) / np.sqrt(x))


class Sin(RealFunction):
    """The sine of an angle in radians."""

    name, jax, numpy = "sin", "jnp.sin({x})", "sin"


class Cos(RealFunction):
    """The cosine of an angle in radians."""

    name, jax, numpy = "cos", "jnp.cos({x})", "cos"


class Tan(RealFunction):
    """The tangent of an angle in radians."""

    name, jax, numpy = "tan", "jnp.tan({x})", "tan"


class Tanh(RealFunction):
    """The hyperbolic tangent."""

    name, jax, numpy = "tanh", "jnp.tanh({x})", "tanh"


class Sigmoid(RealFunction):
    """``1 / (1 + exp(-x))``."""

    name, jax = "sigmoid", "jax.nn.sigmoid({x})"

    def compute(self, x: Array) -> Array:
        """``exp`` may overflow to infinity, whose inverse is the 0 that is meant."""
        one = x.dtype.type(1)
        return np.asarray(one / (one + np.exp(-x)))


class Silu(RealFunction):
    """``x * sigmoid(x)``."""

    name, jax = "silu", "jax.nn.silu({x})"

    def compute(self, x: Array) -> Array:
        """``x`` over ``1 + exp(-x)``."""
        return np.asarray(x / (x.dtype.type(1) + np.exp(-x)))


class Erf(RealFunction):
    """The error function: ``2 / sqrt(pi)`` times the integral of ``exp(-s*s)`` from 0 to ``x``."""

    name, jax = "erf", "jax.scipy.special.erf({x})"

    def compute(self, x: Array) -> Array:
        """NumPy has no error function, Python has one for doubles."""
        return _of_doubles(math.erf, x)


class Erfc(RealFunction):
    """``1 - erf(x)``, precise where that is small: what derivatives of ``gelu`` are made of."""

    name, jax = "erfc", "jax.scipy.special.erfc({x})"

    def compute(self, x: Array) -> Array:
        """Python has it for doubles."""
        return _of_doubles(math.erfc, x)


class Gelu(RealFunction):
    """``x`` times the probability that a standard normal number is less: the exact function."""

    name, jax = "gelu", "jax.nn.gelu({x}, approximate=False)"

    def compute(self, x: Array) -> Array:
        """``x * erfc(-x / sqrt(2)) / 2``."""
        half, root = x.dtype.type(0.5), x.dtype.type(math.sqrt(0.5))
        return np.asarray(half * x * _of_doubles(math.erfc, -x * root))


class Softplus(RealFunction):
    """``log(1 + exp(x))``, without overflow."""

    name, jax = "softplus", "jax.nn.softplus({x})"

    def compute(self, x: Array) -> Array:
        """``logaddexp`` takes care of large numbers."""
        return np.asarray(np.logaddexp(x, x.dtype.type(0)))


def _of_doubles(function: Callable[[float], float], x: Array) -> Array:
    flat = [function(v) for v in x.ravel().tolist()]
    return np.array(flat, dtype=x.dtype).reshape(x.shape)


class Predicate(Unary):
    """A yes or no for each number."""

    __slots__ = ()
    differentiable = False

    def kind(self, operand: PromotedType) -> PromotedType:
        """``bool``."""
        numeric(operand)
        return DType.BOOL, False


class IsNan(Predicate):
    """Whether the element is not a number; never for integers."""

    name, jax, numpy = "isnan", "jnp.isnan({x})", "isnan"


class IsInf(Predicate):
    """Whether the element is infinite; never for integers."""

    name, jax, numpy = "isinf", "jnp.isinf({x})", "isinf"


class Not(Unary):
    """``not x`` for each element of a ``bool`` tensor."""

    name, jax, numpy = "not", "jnp.logical_not({x})", "logical_not"
    differentiable = False

    def kind(self, operand: PromotedType) -> PromotedType:
        """``bool`` alone."""
        if operand[0] is not DType.BOOL:
            raise OperandError(
                f"not takes bool, not {operand[0].value}", help="compare first, as in x == 0"
            )
        return operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast(Unary):
    """The element in another dtype.

    From floating point to integers the fraction is dropped, numbers out of range become the nearest
    that the dtype has, NaN becomes 0. To ``bool``: whether it is not 0.
    """

    dtype: DType

    name = "cast"
    in_double = float
    multilinear = overflows = keeps_nan = True

    def kind(self, operand: PromotedType) -> PromotedType:
        """The dtype asked for, which is never weak."""
        if (operand[0] is DType.KEY) != (self.dtype is DType.KEY):
            raise OperandError(f"{operand[0].value} cannot be converted to {self.dtype.value}")
        return self.dtype, False

    def unlimited(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The element without its fraction."""
        return (np.trunc(args[0].astype(np.float64)),)

    def compute(self, x: Array) -> Array:
        """See the class."""
        target = numpy_dtype(self.dtype)
        if not (self.dtype.is_int and dtype_of(x.dtype).is_float):
            return x.astype(target)
        info = np.iinfo(target)
        wide = np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0)
        integers = np.where(np.abs(wide) < 2.0**62, wide, 0).astype(np.int64)
        inside = np.clip(integers, int(info.min), int(info.max))
        return np.where(
            wide >= 2.0**62, info.max, np.where(wide <= -(2.0**62), info.min, inside)
        ).astype(target)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Exact where the dtype allows."""
        with np.errstate(all="ignore"):
            return (self.compute(args[0]),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """``astype``, which saturates in XLA."""
        x = out.align(args[0], pads.padded(results[0].shape, out))
        return (cast(x.text, x.type.dtype, self.dtype),)
