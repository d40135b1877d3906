"""Reductions over a window that slides along an axis: sums of neighbours, moving maxima.

The axis is thought to go on with neutral elements at both ends. Nothing is ever subtracted, so each
result depends on the elements of its own window alone: NaN and infinities stay where they are, and
no digits are lost to what has left the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.base.cost_model import MODEL
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import cast, dtype_of
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
from tempoc.ops.definition.promotion import kind_of
from tempoc.ops.definition.shapes import axis_of, require
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.reduction import All, Any, Max, Min, Prod, Reduction, Sum
from tempoc.ops.tensor.source import concrete
from tempoc.symbolic import expr as ix

_REDUCTIONS: dict[str, type[Reduction]] = {
    c.name: c for c in (Sum, Prod, Max, Min, Any, All)
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Op):
    """Element ``j`` is the reduction of ``size`` elements from ``j - before`` on.

    A second operand, a number for sums of floating point or integers, is the factor by which each
    element of a window counts more than the one before it.

    ``reduce`` names a reduction that has a neutral element; ``before`` and ``after`` such elements
    stand around the axis. ``size``, ``before`` and ``after`` are over bounds.
    """

    reduce: str
    size: ix.Expr
    before: ix.Expr = ix.ZERO
    after: ix.Expr = ix.ZERO
    axis: int = 0

    name = "window"
    overflows = True

    @property
    def reduction(self) -> Reduction:
        """The reduction of one window, which is the leading axis."""
        return _REDUCTIONS[self.reduce](axes=(0,))

    @property
    def repeated(self) -> Monoid:
        """What combines the elements of a window."""
        monoid = _REDUCTIONS[self.reduce].monoid
        assert monoid is not None
        return monoid

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """As many elements along the axis as windows fit in."""
        require(args, 1 + len(args[1:2]), self.name)
        if any(not self.takes_factor(args[0].dtype, a) for a in args[1:]):
            raise OperandError("a window takes a number as a factor, for sums of so many elements")
        if self.reduce not in _REDUCTIONS:
            raise OperandError(f"window has no reduction {self.reduce!r}")
        for e in (ix.sub(self.size, ix.ONE), self.before, self.after):
            if not facts.holds(ix.compare(">=", e, ix.ZERO)):
                raise OperandError("a window has at least 1 element, and no less than 0 around")
        axis = axis_of(self.axis, args[0].ndim)
        shape = list(args[0].shape)
        padded_extent = ix.add(shape[axis], self.before, self.after, ix.ONE)
        shape[axis] = ix.maximum(ix.ZERO, ix.sub(padded_extent, self.size))
        dtype, weak = self.reduction.kind(kind_of(args[0]))
        return (TensorType(dtype, tuple(shape), weak),)

    def takes_factor(self, dtype: DType, factor: TensorType) -> bool:
        """Whether a factor makes sense."""
        fits = self.reduce == "sum" and isinstance(self.size, ix.Const) and not factor.shape
        return (
            fits
            and not dtype.is_half
            and dtype is not DType.BOOL
            and (dtype.is_float or factor.dtype is dtype)
        )

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element of a window; large windows are doubled, with at most two a time."""
        return ix.product((self.terms(), *results[0].shape))

    def terms(self) -> ix.Expr:
        """The operations for a window; as ``emit`` does them."""
        if isinstance(self.size, ix.Const) and self.size.value > MODEL.short_window:
            return ix.Const(2 * self.size.value.bit_length())
        return self.size

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Window by window, without the neutral elements unless there is nothing else."""
        size, before, after = concrete((self.size, self.before, self.after), at)
        x = np.moveaxis(self.reduction.convert(args[0]), self.axis, 0)
        count = max(x.shape[0] + before + after - size + 1, 0)
        y = np.full((count, *x.shape[1:]), self.repeated.identity(dtype_of(x.dtype)), x.dtype)
        for j in range(count):
            window = x[max(j - before, 0) : max(j - before + size, 0)]
            if len(window) and len(args) > 1:
                window = window * self.weights(args[1], max(before - j, 0), window)
            if len(window):
                y[j] = self.reduction.evaluate((window,), at)[0]
        return (np.moveaxis(y, 0, self.axis),)

    def weights(self, factor: Array, first: int, window: Array) -> Array:
        """Powers of the factor from one on, one for each element of a window."""
        exponents = np.arange(first, first + len(window)).astype(window.dtype)
        with np.errstate(all="ignore"):
            powers: Array = np.power(factor.astype(window.dtype), exponents)
        return powers.reshape(-1, *(1 for _ in window.shape[1:]))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """``lax.reduce_window``; large windows of a known size from windows half as large."""
        dtype = results[0].dtype
        wide = dtype.wide
        v = pads.converted(pads.with_own_padding(args[0], out), wide, out)
        axis, neutral = axis_of(self.axis, v.type.ndim), self.repeated.neutral(wide)
        count = out.pad(results[0].shape[axis])
        text = self.widened(v, axis, neutral, count, out)
        factor = pads.converted(args[1], wide, out).text if len(args) > 1 else ""
        if isinstance(self.size, ix.Const) and (factor or self.size.value > MODEL.short_window):
            text = self.doubled(text, axis, out.static(count), factor, out)
            text = text if wide is dtype else f"({text})"
        else:
            sizes = ["1"] * v.type.ndim
            strides = f"({', '.join(sizes)},)"
            sizes[axis] = out.static(self.size)
            text = (
                f"lax.reduce_window({text}, {neutral}, {self.repeated.lax}, "
                f'({", ".join(sizes)},), {strides}, "VALID")'
            )
        return (cast(text, wide, dtype),)

    def widened(
        self, v: EmittedValue, axis: int, neutral: str, count: ix.Expr, out: Emitter
    ) -> str:
        """The operand between neutral elements, as long as ``count`` windows need."""
        x = out.masked(v, (axis,), neutral)
        after = ix.sub(ix.add(count, self.size), ix.add(self.before, v.padded[axis], ix.ONE))
        if (self.before, after) == (ix.ZERO, ix.ZERO):
            return x
        config = ["(0, 0, 0)"] * v.type.ndim
        config[axis] = f"({out.static(self.before)}, {out.static(after)}, 0)"
        return out.bind(f"{v.text}_wide", f"lax.pad({x}, {neutral}, ({', '.join(config)},))")

    def doubled(self, x: str, axis: int, count: str, factor: str, out: Emitter) -> str:
        """Windows of 1, 2, 4, .. elements; those whose sizes add up to the size, side by side.

        With a factor the second of two windows counts as much more as the first has elements.
        """
        combine = self.repeated.combine
        assert isinstance(self.size, ix.Const) and isinstance(combine, binary.Nary)
        remaining, size, done, text, weight = self.size.value, 1, 0, "", ""
        two = combine.jax
        while True:
            if remaining & size:
                end = count if not done else f"{done} + {count}"
                part = f"lax.slice_in_dim({x}, {done}, {end}, axis={axis})"
                text = two.format(text, f"{weight} * {part}" if weight else part) if text else part
                remaining, done = remaining - size, done + size
                if factor and remaining:
                    weight = (
                        out.bind(f"weight_{done}", f"{weight} * {factor}") if weight else factor
                    )
            if not remaining:
                return text
            first = f"lax.slice_in_dim({x}, 0, -{size}, axis={axis})"
            second = f"lax.slice_in_dim({x}, {size}, None, axis={axis})"
            second = f"{factor} * {second}" if factor else second
            size *= 2
            x = out.bind(f"{self.reduce}_{size}", two.format(first, second))
            factor = out.bind(f"factor_{size}", f"{factor} * {factor}") if factor else ""
