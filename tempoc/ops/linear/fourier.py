"""Discrete Fourier transforms along an axis; there are no complex dtypes.

A complex number is a pair, real part first, along the last axis; the axis before it is transformed.
Where the extent of that varies with the step, XLA's transforms, of fixed sizes, are of no use: the
sums are then formed as products with matrices, which takes the square of the extent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same, untouched_links
from tempoc.ops.definition.dtype_text import cast, scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import inexact, kind_of, real, widened
from tempoc.ops.definition.shapes import Shape, require, same, shape_text
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.tensor.contraction import require_numbers
from tempoc.ops.tensor.reduction import require_nonempty
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate

PAIR = ix.Const(2)


class Fourier(Op):
    """A transform along ``axis`` of the operand, which is the axis ``to`` of the result."""

    __slots__ = ()
    heavy = True
    library = "cuFFT"
    axis: ClassVar[int] = -2
    to: ClassVar[int] = -2

    @abstractmethod
    def shape(self, x: TensorType, facts: ShapeFacts) -> Shape:
        """The shape of the result. Raises ``OperandError``."""

    @abstractmethod
    def transform(self, x: Array, at: Mapping[str, int]) -> Array:
        """The transform of an array, single precision at least, by NumPy."""

    @abstractmethod
    def fixed(self, x: str, type: TensorType, out: Emitter) -> str:
        """Emitted code for an extent that is known."""

    @abstractmethod
    def varying(self, x: EmittedValue, type: TensorType, out: Emitter) -> str:
        """Emitted code for an extent that varies with the step."""

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Floating point."""
        require(args, 1, self.name)
        require_numbers(args, self.name)
        dtype, weak = inexact(kind_of(args[0]))
        return (TensorType(dtype, self.shape(args[0], facts), weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element: factors as of the logarithm of the extent are left out."""
        return ix.product(args[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """By NumPy; halves in single precision."""
        x = widened(real(args[0]))
        with np.errstate(all="ignore"):
            return (self.transform(x, at).astype(x.dtype, copy=False),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes before that of the transform."""
        first = args[0].ndim + self.axis
        return untouched_links(args[0].ndim, range(first, args[0].ndim))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """By XLA's transform, or by sums."""
        (result,) = results
        x = pads.converted(pads.with_own_padding(args[0], out), result.dtype.wide, out)
        axis = x.type.ndim + self.axis
        if all(out.pad(e) == e for e in (x.type.shape[axis], result.shape[self.to])):
            text = self.fixed(x.text, result, out)
        else:
            text = out.masked(x, (axis,), scalar(0, x.type.dtype))
            text = self.varying(replace(x, text=text), result, out)
        return (cast(text, result.dtype.wide, result.dtype),)


class Fft(Fourier):
    """``fft(z)``: the transform of complex numbers ``[..., n, 2]``, as in NumPy."""

    __slots__ = ()
    name = "fft"

    def shape(self, x: TensorType, facts: ShapeFacts) -> Shape:
        """That of the operand."""
        return _pairs(x, self.name, facts)

    def transform(self, x: Array, at: Mapping[str, int]) -> Array:
        """As in NumPy."""
        return paired(np.fft.fft(complex_numbers(x)))

    def fixed(self, x: str, type: TensorType, out: Emitter) -> str:
        """As in NumPy."""
        return f"paired(jnp.fft.{self.name}(complex_numbers({x})))"

    def varying(self, x: EmittedValue, type: TensorType, out: Emitter) -> str:
        """Sums of products with cosines and sines."""
        n = out.index(x.type.shape[-2])
        return f"fourier_sums({x.text}, {n}, {out.static(x.padded[-2])}, -1)"


class Ifft(Fft):
    """``ifft(z)``: the inverse of ``fft``."""

    __slots__ = ()
    name = "ifft"

    def transform(self, x: Array, at: Mapping[str, int]) -> Array:
        """As in NumPy."""
        return paired(np.fft.ifft(complex_numbers(x)))

    def varying(self, x: EmittedValue, type: TensorType, out: Emitter) -> str:
        """Sums of products with cosines and sines, divided by their number."""
        n = out.index(x.type.shape[-2])
        return f"fourier_sums({x.text}, {n}, {out.static(x.padded[-2])}, 1) / {pads.atom(n)}"


class Rfft(Fourier):
    """``rfft(x)``: of real numbers ``[..., n]`` the first ``n//2 + 1`` complex numbers."""

    __slots__ = ()
    name = "rfft"
    axis = -1

    def shape(self, x: TensorType, facts: ShapeFacts) -> Shape:
        """Half of the extent, and an axis of 2."""
        if not x.shape:
            raise OperandError(f"{self.name} transforms an axis, a scalar has none")
        require_nonempty(x.shape, (x.ndim - 1,), self.name, facts)
        return (*x.shape[:-1], half(x.shape[-1]), PAIR)

    def transform(self, x: Array, at: Mapping[str, int]) -> Array:
        """As in NumPy."""
        return paired(np.fft.rfft(x))

    def fixed(self, x: str, type: TensorType, out: Emitter) -> str:
        """As in NumPy."""
        return f"paired(jnp.fft.rfft({x}))"

    def varying(self, x: EmittedValue, type: TensorType, out: Emitter) -> str:
        """Sums of products with cosines and sines."""
        n, count = out.index(x.type.shape[-1]), out.static(out.pad(type.shape[-2]))
        pair = f"jnp.stack([{x.text}, jnp.zeros_like({x.text})], axis=-1)"
        return f"fourier_sums({pair}, {n}, {count}, -1)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Irfft(Fourier):
    """``irfft(z, n)``: the ``n`` real numbers of which ``rfft`` is ``z``, ``[..., n//2 + 1, 2]``.

    As in NumPy the imaginary part of the first number, and of the last if ``n`` is even, counts as
    0.
    """

    n: ix.Expr

    name = "irfft"
    to = -1

    def shape(self, x: TensorType, facts: ShapeFacts) -> Shape:
        """The numbers that are asked for."""
        shape = _pairs(x, self.name, facts)
        if not facts.holds(ix.compare(">=", self.n, ix.ONE)):
            raise OperandError(f"irfft to {show(self.n)} numbers, which can be less than 1")
        if not same(shape[-2], half(self.n), facts):
            raise OperandError(
                f"irfft to {show(self.n)} numbers takes {show(half(self.n))} complex ones, "
                f"not {show(shape[-2])}",
                help="rfft of n numbers has n//2 + 1; without n, irfft gives twice as many less 2",
            )
        return (*shape[:-2], self.n)

    def transform(self, x: Array, at: Mapping[str, int]) -> Array:
        """As in NumPy."""
        return np.asarray(np.fft.irfft(complex_numbers(x), evaluate(self.n, at)))

    def fixed(self, x: str, type: TensorType, out: Emitter) -> str:
        """As in NumPy."""
        return f"jnp.fft.irfft(complex_numbers({x}), {out.static(self.n)})"

    def varying(self, x: EmittedValue, type: TensorType, out: Emitter) -> str:
        """Each number stands for itself and for its conjugate, but for the first and the last."""
        n, count = out.index(self.n), out.static(out.pad(self.n))
        places = f"2 * jnp.arange({out.static(x.padded[-2])}, dtype=jnp.int32)"
        alone = f"({places} % {pads.atom(n)} == 0)"
        twice = f"jnp.where({alone}, {scalar(1, x.type.dtype)}, {scalar(2, x.type.dtype)})"
        both = out.bind("both", f"{x.text} * {twice}[:, None]")
        return f"fourier_sums({both}, {n}, {count}, 1)[..., 0] / {pads.atom(n)}"


def half(n: ix.Expr) -> ix.Expr:
    """How many complex numbers determine the transform of so many real ones."""
    return ix.add(ix.floordiv(n, 2), ix.ONE)


def _pairs(x: TensorType, name: str, facts: ShapeFacts) -> Shape:
    if x.ndim < 2 or not same(x.shape[-1], PAIR, facts):
        raise OperandError(
            f"{name} takes complex numbers, [.., n, 2], not the shape {shape_text(x.shape)}",
            help="stack([x, zeros_like(x)], axis = -1) makes complex numbers of real ones",
        )
    require_nonempty(x.shape, (x.ndim - 2,), name, facts)
    return x.shape


def complex_numbers(x: Array) -> Array:
    """Pairs as complex numbers."""
    z = np.empty(x.shape[:-1], np.result_type(x.dtype, np.complex64))
    z.real, z.imag = x[..., 0], x[..., 1]
    return z


def paired(z: Array) -> Array:
    """Complex numbers as pairs."""
    return np.stack([z.real, z.imag], axis=-1)


COMPLEX_NUMBERS = '''\
def complex_numbers(x):
    """Pairs along the last axis as complex numbers."""
    return lax.complex(x[..., 0], x[..., 1])
'''

PAIRED = '''\
def paired(z):
    """Complex numbers as pairs along a last axis."""
    return jnp.stack([z.real, z.imag], axis=-1)
'''

FOURIER_SUMS = '''\
def fourier_sums(z, n, count, sign):
    """The first numbers of a transform of n complex ones, of which z has as many pairs, then 0."""
    turns = jnp.arange(z.shape[-2])[:, None] * jnp.arange(count) % jnp.maximum(n, 1)
    angle = turns.astype(z.dtype) * (2 * jnp.pi / jnp.maximum(n, 1)).astype(z.dtype)
    cosine, sine = jnp.cos(angle), sign * jnp.sin(angle)
    x, y = z[..., 0], z[..., 1]
    return jnp.stack([x @ cosine - y @ sine, x @ sine + y @ cosine], axis=-1)
'''
