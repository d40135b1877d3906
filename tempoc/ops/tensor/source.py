"""Sources: literals, index expressions, inputs and params, and constant patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import AxisPart, Link, Same, created_links
from tempoc.ops.definition.dtype_text import Scalar, cast, jax_dtype, numpy_dtype, scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import require, same_shape, type_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import ceildiv, evaluate, is_condition


def concrete(shape: tuple[ix.Expr, ...], at: Mapping[str, int]) -> tuple[int, ...]:
    """The shape at a point."""
    return tuple(evaluate(e, at) for e in shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal(Op):
    """A number. ``weak`` when it gives way in promotions, as numbers without a dtype do."""

    value: Scalar
    dtype: DType
    weak: bool = False

    name = "literal"
    cheap = True
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A scalar."""
        require(args, 0, self.name)
        return (TensorType(self.dtype, (), self.weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The number in its dtype, infinite where that has none so large."""
        with np.errstate(over="ignore"):
            return (np.array(self.value, numpy_dtype(self.dtype)),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The number in its dtype."""
        return (scalar(self.value, self.dtype),)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexValue(Op):
    """An index expression as a tensor: ``i32``, or ``bool`` for a condition."""

    expr: ix.Expr

    name = "index"
    overflows = True
    cheap = True
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A scalar."""
        require(args, 0, self.name)
        return (TensorType(self.dtype),)

    @property
    def dtype(self) -> DType:
        """``bool`` for a condition, else ``i32``."""
        return DType.BOOL if is_condition(self.expr) else DType.I32

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The expression's value at the point."""
        value = evaluate(self.expr, at)
        if self.dtype.is_int:  # compiled programs wrap around
            value = (value + 2**63) % 2**64 - 2**63
        return (np.array(value).astype(numpy_dtype(self.dtype)),)

    def unlimited(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The expression's value."""
        return (np.array(float(evaluate(self.expr, at))),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The expression, as an array."""
        return (f"{jax_dtype(self.dtype)}({out.index(self.expr)})",)


class GivenTensor(Op):
    """A tensor that is there before the first step: nothing is ever computed for it."""

    __slots__ = ()
    computed = False
    differentiable = False

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Never called: the evaluator of the graph has the data."""
        raise TypeError(f"{self.name} has no value of its own")

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Never called: a store holds the data."""
        raise TypeError(f"{self.name} is not computed by a kernel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Input(GivenTensor):
    """Data given at run time."""

    dtype: DType
    shape: tuple[ix.Expr, ...] = ()

    name = "input"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """As declared."""
        require(args, 0, self.name)
        return (TensorType(self.dtype, self.shape),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Param(GivenTensor):
    """Weights read from a file at run time; ``template`` names the tensor (``layers.{l}.w``).

    With ``has_default`` the only operand is used where no file holds them.
    """

    template: str
    dtype: DType
    shape: tuple[ix.Expr, ...] = ()
    has_default: bool = False

    name = "param"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """As declared; a default must be of that type."""
        require(args, int(self.has_default), self.name)
        declared = TensorType(self.dtype, self.shape)
        for a in args:
            if a.dtype is not self.dtype or not same_shape(a.shape, self.shape, facts):
                raise OperandError(
                    f"the default is {type_text(a)}, the declaration says {type_text(declared)}"
                )
        return (declared,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Full(Op):
    """A tensor with one number everywhere: ``zeros``, ``ones``, ``full``, ``zeros_like``."""

    shape: tuple[ix.Expr, ...]
    value: Scalar
    dtype: DType

    name = "full"
    cheap = True
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """As asked for."""
        require(args, 0, self.name)
        return (TensorType(self.dtype, self.shape),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (np.full(concrete(self.shape, at), self.value, numpy_dtype(self.dtype)),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes."""
        return created_links(results[0])

    def narrowed(self, link: Link, part: AxisPart) -> Full:
        """A smaller tensor."""
        return replace(self, shape=part.of_shape(self.shape, link))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The padding holds the number too."""
        shape = pads.static_shape(pads.padded(self.shape, out), out)
        value = scalar(self.value, self.dtype)
        for function, number in (("zeros", 0), ("ones", 1)):
            if value == scalar(number, self.dtype):  # that of -0.0 is another one
                return (f"jnp.{function}({shape}, {jax_dtype(self.dtype)})",)
        return (f"jnp.full({shape}, {value})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Eye(Op):
    """``n`` rows and ``m`` columns with ones where the two indices agree, else zeros."""

    n: ix.Expr
    m: ix.Expr
    dtype: DType = DType.F32

    name = "eye"
    cheap = True
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A matrix."""
        require(args, 0, self.name)
        return (TensorType(self.dtype, (self.n, self.m)),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        n, m = concrete((self.n, self.m), at)
        return (np.eye(n, m, dtype=np.bool_).astype(numpy_dtype(self.dtype)),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The padding continues the pattern."""
        n, m = (out.static(out.pad(e)) for e in (self.n, self.m))
        dtype = DType.I32 if self.dtype.is_float else self.dtype  # see ``cast`` about conditions
        eye = f"jnp.eye({n}, {m}, dtype={jax_dtype(dtype)})"
        return (cast(eye, dtype, self.dtype),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arange(Op):
    """``start, start + step, ...`` up to ``stop``, which is left out, as in NumPy."""

    stop: ix.Expr
    start: ix.Expr = ix.ZERO
    step: int = 1
    dtype: DType = DType.I32

    name = "arange"
    cheap = True
    differentiable = False

    @property
    def extent(self) -> ix.Expr:
        """How many numbers there are."""
        first, last = (self.start, self.stop) if self.step > 0 else (self.stop, self.start)
        return ix.maximum(ix.ZERO, ceildiv(ix.sub(last, first), abs(self.step)))

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A vector; its extent is the difference of the ends where that is never negative."""
        require(args, 0, self.name)
        if self.step == 0:
            raise OperandError("arange takes no step of 0")
        first, last = (self.start, self.stop) if self.step > 0 else (self.stop, self.start)
        count = ceildiv(ix.sub(last, first), abs(self.step))
        never_less = facts.holds(ix.compare(">=", count, ix.ZERO))
        return (TensorType(self.dtype, (count if never_less else self.extent,)),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Exact integers, then converted."""
        start, stop = concrete((self.start, self.stop), at)
        return (np.arange(start, stop, self.step).astype(numpy_dtype(self.dtype)),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """The only axis."""
        return created_links(results[0])

    def narrowed(self, link: Link, part: AxisPart) -> Arange:
        """Fewer numbers."""
        first = ix.add(self.start, ix.mul(ix.Const(self.step), part.start))
        return replace(
            self, start=first, stop=ix.add(first, ix.mul(ix.Const(self.step), part.count))
        )

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The padding continues the sequence."""
        extent = out.static(out.pad(results[0].shape[0]))
        if self.start == ix.ZERO and self.step == 1:
            return (f"jnp.arange({extent}, dtype={jax_dtype(self.dtype)})",)
        scaled = "" if self.step == 1 else f"{self.step} * "
        shifted = f"{out.index(self.start)} + {scaled}jnp.arange({extent}, dtype=jnp.int32)"
        return (f"({shifted}).astype({jax_dtype(self.dtype)})",)
