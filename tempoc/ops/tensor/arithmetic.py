"""Functions of two or three numbers, applied to elements that broadcast against each other.

Operands are converted to the dtype they promote to, then computed in it. Integers wrap around.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads, promotion
from tempoc.ops.definition.dtype_text import (
    Scalar,
    cast,
    dtype_of,
    numpy_dtype,
    paired,
    scalar,
    ufunc,
)
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import broadcast, require
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix


class Nary(Op):
    """Operands that broadcast. ``jax`` is the text of the result, ``{0}`` the first operand.

    ``numpy`` names the function of NumPy that ``compute`` calls, unless an operator spells it out.
    """

    __slots__ = ()
    elementwise = True
    jax: ClassVar[str]
    numpy: ClassVar[str]
    arity: ClassVar[int] = 2

    def operand(self, args: tuple[TensorType, ...]) -> promotion.PromotedType:
        """The kind to which operands are converted. Raises ``OperandError``."""
        return promotion.promote(args)

    def result(self, operand: promotion.PromotedType) -> promotion.PromotedType:
        """The kind of the result."""
        return operand

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element."""
        return ix.product(results[0].shape)

    def compute(self, *args: Array) -> Array:
        """The function itself, on arrays of one dtype, which broadcast."""
        return np.asarray(ufunc(self.numpy)(*args))

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Broadcast shape, promoted dtype."""
        require(args, self.arity, self.name)
        dtype, weak = self.result(self.operand(args))
        return (TensorType(dtype, broadcast([a.shape for a in args], facts), weak),)

    def meeting(self, types: tuple[TensorType, ...]) -> DType | None:
        """All operands are converted to one dtype."""
        return self.operand(types)[0]

    def settle(self, args: tuple[Array, ...], types: tuple[TensorType, ...]) -> tuple[Array, ...]:
        """Numbers without a dtype of their own take that of the others, and wrap if need be."""
        if not any(t.weak for t in types):
            return args
        dtype = numpy_dtype(self.operand(types)[0])
        with np.errstate(all="ignore"):
            return tuple(a.astype(dtype, copy=False) for a in args)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Half precision is computed in single precision and rounded, as XLA does."""
        args = promotion.common(args)
        half = dtype_of(args[0].dtype).is_half
        with np.errstate(all="ignore"):
            y = np.asarray(self.compute(*map(promotion.widened, args)))
            return (y.astype(args[0].dtype) if half and y.dtype == np.float32 else y,)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """One expression; padding is combined with padding."""
        texts = self.texts(args, results, out)
        texts = [*paired(*texts)] if len(texts) == 2 else texts
        return (self.jax.format(*texts),)

    def texts(
        self, args: EmittedValues, results: tuple[TensorType, ...], out: Emitter
    ) -> list[str]:
        """The operands in a common dtype, ready to broadcast."""
        dtype = self.operand(tuple(a.type for a in args))[0]
        shape = pads.padded(results[0].shape, out)
        aligned = [pads.aligned_to(a, shape, out) for a in args]
        return [cast(a.text, a.type.dtype, dtype) for a in aligned]


class Arithmetic(Nary):
    """Two numbers give a number of the same dtype; ``bool`` counts as 0 and 1."""

    __slots__ = ()
    overflows = True

    def operand(self, args: tuple[TensorType, ...]) -> promotion.PromotedType:
        """At least integers."""
        return promotion.numeric(promotion.promote(args))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As ``Nary``, with ``bool`` made ``i32``."""
        return Nary.evaluate(self, tuple(_numbers(a) for a in args), at)


def _numbers(a: Array) -> Array:
    return a.astype(np.int32) if a.dtype == np.bool_ else a


class Add(Arithmetic):
    """``a + b``."""

    name, symbol, jax, numpy = "add", "+", "{0} + {1}", "add"
    in_double = operator.add
    commutative = light = keeps_nan = True


class Subtract(Arithmetic):
    """``a - b``."""

    name, symbol, jax, numpy = "sub", "-", "{0} - {1}", "subtract"
    in_double = operator.sub
    light = keeps_nan = True


class Multiply(Arithmetic):
    """``a * b``."""

    name, symbol, jax, numpy = "mul", "*", "{0} * {1}", "multiply"
    in_double = operator.mul
    commutative = multilinear = light = keeps_nan = True


class Divide(Arithmetic):
    """``a / b``; integers become ``f32``."""

    name, symbol, jax, numpy = "div", "/", "{0} / {1}", "divide"
    in_double = operator.truediv
    keeps_nan = True

    def operand(self, args: tuple[TensorType, ...]) -> promotion.PromotedType:
        """Floating point."""
        return promotion.inexact(promotion.promote(args))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As ``Nary``, in floating point."""
        return Nary.evaluate(self, tuple(promotion.real(a) for a in promotion.common(args)), at)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorDivide(Arithmetic):
    """``a // b``, rounded down as in Python; divided by 0 as in NumPy: an integer gives 0.

    ``natural``: ``a`` is known not to be negative, and ``b`` to be positive.
    """

    natural: bool = False

    name, symbol, jax, numpy = "floordiv", "//", "jnp.floor_divide({0}, {1})", "floor_divide"
    differentiable = False

    def unlimited(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Division by 0 gives 0."""
        a, b = (x.astype(np.float64) for x in args)
        return (np.floor_divide(np.where(b == 0, 0, a), np.where(b == 0, 1, b)),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """XLA has another idea of an integer divided by 0, JAX before 0.10.2 of a float."""
        if self.natural and (text := _truncated("lax.div", self, args, results, out)):
            return (text,)
        if not results[0].dtype.is_float or args[1].constant:
            return (_guarded(self, args, results, out),)
        a, b = self.texts(args, results, out)
        return (f"jnp.where({b} == 0, {a} / {b}, {self.jax.format(a, b)})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder(Arithmetic):
    """``a % b`` with the sign of ``b``, as in Python; an integer modulo 0 gives 0, as in NumPy.

    ``natural``: ``a`` is known not to be negative, and ``b`` to be positive.
    """

    natural: bool = False

    name, symbol, jax, numpy = "mod", "%", "jnp.remainder({0}, {1})", "remainder"
    overflows = False

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """XLA has another idea of an integer modulo 0."""
        if self.natural and (text := _truncated("lax.rem", self, args, results, out)):
            return (text,)
        return (_guarded(self, args, results, out),)


def _truncated(
    function: str, op: Arithmetic, args: EmittedValues, results: Types, out: Emitter
) -> str:
    """The division that rounds towards zero, which is one instruction; empty if shapes differ.

    XLA fixes the signs of the other one with five operators.
    """
    a, b = op.texts(args, results, out)
    shapes = [x.type.shape for x in args]
    if shapes[0] != shapes[1] and all(shapes):
        return ""
    return f"{function}({a}, {b})"


def _guarded(
    op: Arithmetic, args: EmittedValues, results: tuple[TensorType, ...], out: Emitter
) -> str:
    a, b = op.texts(args, results, out)
    dtype = results[0].dtype
    if dtype.is_float or args[1].constant:
        return op.jax.format(a, b)
    divisor = out.bind("divisor", f"jnp.where({b} == 0, {scalar(1, dtype)}, {b})")
    return f"jnp.where({b} == 0, {scalar(0, dtype)}, {op.jax.format(a, divisor)})"


class Power(Arithmetic):
    """``a ** b``. A negative power of an integer is rounded towards zero."""

    name, symbol, jax, numpy = "power", "**", "jnp.power({0}, {1})", "power"

    def compute(self, *args: Array) -> Array:
        """NumPy refuses negative powers of integers."""
        a, b = args
        if a.dtype.kind not in "iu":
            # For one exponent of 0.5 NumPy takes the root, which is NaN for -inf; not for many.
            many = np.array(np.broadcast_to(b, np.broadcast_shapes(a.shape, b.shape)), ndmin=1)
            return np.asarray(np.power(a, many)).reshape(np.broadcast_shapes(a.shape, b.shape))
        powers = np.power(a, np.where(b < 0, b & 1, b))
        inverses = np.where(np.abs(a) == 1, powers, np.zeros((), a.dtype))
        return np.where(b < 0, inverses, powers)

    def unlimited(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """A negative power is never large."""
        a, b = (x.astype(np.float64) for x in args)
        return (np.where(b < 0, 0, np.power(a, np.maximum(b, 0))),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """JAX leaves negative powers of integers undefined, and takes six bits of an exponent."""
        dtype = results[0].dtype
        base, exponent = self.texts(args, results, out)
        if dtype.is_float:
            of, to = (a.constant for a in args)
            exact = (of is not None and of >= 0) or (to is not None and to % 1 == 0)
            return (self.jax.format(base, exponent) if exact else f"raised({base}, {exponent})",)
        count = -1 if args[1].constant is None else int(args[1].constant)
        if 0 <= count < SIX_BITS:
            return (self.jax.format(base, exponent),)
        if dtype.is_unsigned or count >= 0:
            return (f"integer_power({base}, {exponent})",)
        exponent = out.bind("exponent", exponent)
        power = f"integer_power({base}, jnp.abs({exponent}))"
        return (
            f"jnp.where(({exponent} < 0) & (jnp.abs({base}) != 1), {scalar(0, dtype)}, {power})",
        )


SIX_BITS = 2**6

RAISED = '''\
def raised(base, exponent):
    """base ** exponent, of which XLA would compute a logarithm from that of the absolute base."""
    result = jnp.power(base, exponent)
    return jnp.where(jnp.isnan(result), jnp.nan, result)
'''

INTEGER_POWER = '''\
def integer_power(base, exponent):
    """base ** exponent, not negative, of which jnp.power would look at six bits only."""
    whole = jnp.power(base, exponent & 63)
    for bits in range(6, 8 * exponent.dtype.itemsize, 6):
        for _ in range(6):
            base = base * base
        whole = whole * jnp.power(base, (exponent >> bits) & 63)
    return whole
'''


class Minimum(Nary):
    """The lesser of two; NaN if one is."""

    name, jax, numpy = "minimum", "jnp.minimum({0}, {1})", "minimum"
    light = extreme = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Maximum(Nary):
    """The greater of two; NaN if one is, but with ``skips_nan`` the other one."""

    skips_nan: bool = False

    name, jax = "maximum", "jnp.maximum({0}, {1})"
    light = extreme = True

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """``jnp.fmax`` is the one that skips NaN."""
        if not self.skips_nan:
            return Nary.emit(self, args, results, out)
        return (f"jnp.fmax({', '.join(paired(*self.texts(args, results, out)))})",)

    def compute(self, *args: Array) -> Array:
        """As in NumPy."""
        return np.asarray((np.fmax if self.skips_nan else np.maximum)(*args))


class Clip(Nary):
    """``clip(x, low, high)``: ``minimum(maximum(x, low), high)``."""

    name, jax = "clip", "jnp.minimum(jnp.maximum({0}, {1}), {2})"
    arity = 3

    def compute(self, *args: Array) -> Array:
        """As in NumPy."""
        x, low, high = args
        return np.asarray(np.minimum(np.maximum(x, low), high))


class Comparison(Nary):
    """A yes or no for each pair of numbers; false where one is NaN (true for ``!=``)."""

    __slots__ = ()
    symbol: ClassVar[ix.CompareOp]
    differentiable = False

    def result(self, operand: promotion.PromotedType) -> promotion.PromotedType:
        """``bool``, never weak."""
        if operand[0] is DType.KEY:
            raise OperandError("random keys do not compare")
        return DType.BOOL, False


AT_LEAST = '''\
def at_least(a, b):
    """`a >= b`, which XLA takes to be true for NaN where `a` is a square and `b` turns out 0."""
    return (a > b) | (a == b)
'''


class _AtLeast(Comparison):
    """Whether one is no less than the other, the operand ``lesser``.

    XLA takes ``x * x >= 0.0`` to be true for NaN as well (JAX 0.10.2), as of all that it knows not
    to be negative, but not ``x * x >= -0.0``. That an operand is 0 it also sees where no literal
    stands: in the first step of a loop, in a sum of nothing, in a number that is rounded to it.
    """

    __slots__ = ()
    lesser: ClassVar[int]

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """As for others, if no number of floating point may be 0."""
        dtype, lesser = self.operand(tuple(a.type for a in args))[0], args[self.lesser]
        number = lesser.constant
        if not dtype.is_float or (number is not None and _rounded(number, dtype)):
            return Comparison.emit(self, args, results, out)
        texts = self.texts(args, results, out)
        if number is None or lesser.type.shape:
            return (f"at_least({texts[1 - self.lesser]}, {texts[self.lesser]})",)
        texts[self.lesser] = scalar(-0.0, dtype)
        return (self.jax.format(*paired(*texts)),)


def _rounded(number: Scalar, dtype: DType) -> Scalar:
    """The number as the dtype has it."""
    with np.errstate(all="ignore"):
        return float(np.asarray(number).astype(numpy_dtype(dtype)))


class Less(Comparison):
    """``a < b``."""

    name, symbol, jax, numpy = "lt", "<", "{0} < {1}", "less"


class LessEqual(_AtLeast):
    """``a <= b``."""

    name, symbol, jax, numpy = "le", "<=", "{0} <= {1}", "less_equal"
    lesser = 0


class Greater(Comparison):
    """``a > b``."""

    name, symbol, jax, numpy = "gt", ">", "{0} > {1}", "greater"


class GreaterEqual(_AtLeast):
    """``a >= b``."""

    name, symbol, jax, numpy = "ge", ">=", "{0} >= {1}", "greater_equal"
    lesser = 1


class Equal(Comparison):
    """``a == b``."""

    name, symbol, jax, numpy = "eq", "==", "{0} == {1}", "equal"
    commutative = True


class NotEqual(Comparison):
    """``a != b``."""

    name, symbol, jax, numpy = "ne", "!=", "{0} != {1}", "not_equal"
    commutative = True


class Logical(Nary):
    """Two ``bool`` tensors give one."""

    __slots__ = ()
    differentiable = False

    def operand(self, args: tuple[TensorType, ...]) -> promotion.PromotedType:
        """``bool`` alone."""
        for a in args:
            if a.dtype is not DType.BOOL:
                raise OperandError(
                    f"{self.name} takes bool, not {a.dtype.value}",
                    help="compare first, as in x != 0",
                )
        return DType.BOOL, False


class And(Logical):
    """``a and b`` for each pair of elements."""

    name, symbol, jax, numpy = "and", "and", "jnp.logical_and({0}, {1})", "logical_and"
    commutative = True


class Or(Logical):
    """``a or b`` for each pair of elements."""

    name, symbol, jax, numpy = "or", "or", "jnp.logical_or({0}, {1})", "logical_or"
    commutative = True
