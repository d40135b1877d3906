"""Reductions over spatial axes. ``axes = None`` means all; ``keepdims`` leaves extents of 1.

Positions beyond a ragged extent count as the neutral element. ``bool`` is summed as ``i32``; halves
are summed in ``f32`` and rounded once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same
from tempoc.ops.definition.dtype_text import (
    bare,
    cast,
    dtype_of,
    jax_dtype,
    ufunc,
)
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import PromotedType, inexact, kind_of, numeric, real, widened
from tempoc.ops.definition.shapes import axes_of, require
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.tensor.monoids import ALL, ANY, LOGSUMEXP, MAX, MIN, PROD, SUM
from tempoc.ops.tensor.scan import CumLogSumExp, CumMax, CumMin, CumProd, CumSum, Scan
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show


def axes_text(axes: tuple[int, ...]) -> str:
    """The ``axis`` argument in emitted code: ``0``, ``(0, 1)``."""
    return str(axes[0]) if len(axes) == 1 else str(axes)


def kept_shape(
    shape: tuple[ix.Expr, ...], axes: tuple[int, ...], keepdims: bool
) -> tuple[ix.Expr, ...]:
    """What is left of a shape without these axes."""
    if keepdims:
        return tuple(ix.ONE if k in axes else e for k, e in enumerate(shape))
    return tuple(e for k, e in enumerate(shape) if k not in axes)


def has_element(extent: ix.Expr, facts: ShapeFacts) -> bool:
    """Whether an extent is provably at least 1; of products, as of joined axes, each factor."""
    if facts.holds(ix.compare(">=", extent, ix.ONE)):
        return True
    terms = extent.terms if isinstance(extent, ix.IndexSum) else ((1, extent),)
    rest = extent.const if isinstance(extent, ix.IndexSum) else 0
    return rest >= 0 and all(
        weight > 0
        and isinstance(term, ix.IndexProduct)
        and all(facts.holds(ix.compare(">=", factor, ix.ONE)) for factor in term.factors)
        for weight, term in terms
    )


def require_nonempty(
    shape: tuple[ix.Expr, ...], axes: tuple[int, ...], name: str, facts: ShapeFacts
) -> None:
    """``OperandError`` unless all of these axes provably have an element."""
    for axis in axes:
        if not has_element(shape[axis], facts):
            raise OperandError(
                f"{name} over axis {axis} of extent {show(shape[axis])}, which can be 0",
                help=f"{name} of nothing has no value; "
                "restrict the equation with `when`, or pad the axis",
                empty=shape[axis],
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction(Op):
    """``jax`` names the function of ``jnp``; ``nonempty``: an empty axis has no result.

    ``scan`` computes the reductions of all prefixes; a ``bool`` is scanned as 0 and 1. ``passes``
    is the number of operations for each element.
    """

    axes: tuple[int, ...] | None = None
    keepdims: bool = False

    heavy = True
    jax: ClassVar[str]
    scan: ClassVar[type[Scan] | None] = None
    nonempty: ClassVar[bool] = False
    passes: ClassVar[int] = 1

    @abstractmethod
    def kind(self, operand: PromotedType) -> PromotedType:
        """The kind in which the result is computed. Raises ``OperandError``."""

    def neutral(self, dtype: DType) -> str:
        """What padding holds, in emitted code."""
        return (self.monoid or SUM).neutral(dtype)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """So many for each element of the operand."""
        return ix.product((ix.Const(self.passes), *args[0].shape))

    def compute(self, x: Array, axes: tuple[int, ...]) -> Array:
        """The reduction of an array of ``f32`` or wider, or of integers, which wrap around."""
        assert self.monoid is not None
        reduce = ufunc(self.monoid.numpy).reduce
        return np.asarray(reduce(x, axis=axes, keepdims=self.keepdims, dtype=x.dtype))

    def convert(self, x: Array) -> Array:
        """The array in the dtype of the result."""
        return x

    def extra(self, dtype: DType) -> str:
        """More arguments of the call in emitted code."""
        return ""

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape without the axes."""
        require(args, 1, self.name)
        axes = axes_of(self.axes, args[0].ndim)
        if self.nonempty:
            require_nonempty(args[0].shape, axes, self.name, facts)
        dtype, weak = self.kind(kind_of(args[0]))
        return (TensorType(dtype, kept_shape(args[0].shape, axes, self.keepdims), weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy, in the result's dtype."""
        x = self.convert(args[0])
        with np.errstate(all="ignore"):
            y = self.compute(widened(x), axes_of(self.axes, x.ndim))
        return (y.astype(x.dtype) if dtype_of(x.dtype).is_half else y,)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """What is not reduced stays in its order."""
        gone = axes_of(self.axes, args[0].ndim)
        for axis in range(args[0].ndim):
            before = 0 if self.keepdims else sum(g < axis for g in gone)
            yield Link((axis,), (None if axis in gone else axis - before,))

    def at_position(self, link: Link, args: Types) -> Reduction:
        """Over the same axes."""
        (own,) = link.operands
        assert own is not None
        axes = axes_of(self.axes, args[0].ndim)
        return replace(self, axes=tuple(k - (own < k) for k in axes))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Mask, then reduce."""
        x, axes = self.prepared(args[0], results[0].dtype, out)
        extra = self.extra(results[0].dtype)
        return (self.call(self.jax, x, axes, extra),) if axes else (x,)

    def prepared(self, v: EmittedValue, dtype: DType, out: Emitter) -> tuple[str, tuple[int, ...]]:
        """The operand converted and masked, and the axes."""
        axes = axes_of(self.axes, v.type.ndim)
        v = pads.converted(pads.with_own_padding(v, out), dtype, out)
        if self.monoid is SUM and {*v.vanishing} <= {*axes}:
            masked = tuple(k for k in axes if k not in v.vanishing)
        else:
            masked = axes
        v = self.summed_within_rows(v, masked, dtype, out)
        return out.masked(v, masked, self.neutral(dtype)), axes

    def summed_within_rows(
        self, v: EmittedValue, axes: tuple[int, ...], dtype: DType, out: Emitter
    ) -> EmittedValue:
        """The operand of a sum, summed along those of the axes that are not ragged.

        XLA for CPUs writes a masked copy of what it sums: here of these sums, not of the operand.
        Halves are rounded once.
        """
        rest = tuple(k for k in axes if not v.is_ragged(k))
        long = any(v.type.shape[k] != ix.ONE for k in rest)
        if self.monoid is not SUM or dtype.is_half or len(rest) == len(axes) or not long:
            return v
        total = f"jnp.sum({v.text}, axis={axes_text(rest)}{self.extra(dtype)}, keepdims=True)"
        shapes = (
            (ix.ONE if k in rest else e for k, e in enumerate(s)) for s in (v.type.shape, v.padded)
        )
        shape, padded = map(tuple, shapes)
        name = out.bind(f"{v.text}_sums", total)
        return replace(v, text=name, type=replace(v.type, shape=shape), padded=padded)

    def call(self, function: str, x: str, axes: tuple[int, ...], extra: str = "") -> str:
        """A call of a reduction of ``jnp``."""
        keepdims = ", keepdims=True" if self.keepdims else ""
        return f"{function}({x}, axis={axes_text(axes)}{extra}{keepdims})"


class NumberReduction(Reduction):
    """A reduction of numbers, of which ``bool`` are 0 and 1."""

    __slots__ = ()
    layout_agnostic = overflows = True

    def kind(self, operand: PromotedType) -> PromotedType:
        """``bool`` is counted."""
        return numeric(operand)

    def convert(self, x: Array) -> Array:
        """``bool`` is counted."""
        return x.astype(np.int32) if x.dtype == np.bool_ else x

    def extra(self, dtype: DType) -> str:
        """The dtype, or else 64-bit mode would widen integers."""
        return f", dtype={jax_dtype(dtype)}" if dtype.is_int else ""


class Sum(NumberReduction):
    """The sum; 0 of nothing."""

    __slots__ = ()
    name, jax = "sum", "jnp.sum"
    multilinear = True
    monoid = SUM
    scan: ClassVar[type[Scan]] = CumSum


class Prod(NumberReduction):
    """The product; 1 of nothing."""

    __slots__ = ()
    name, jax = "prod", "jnp.prod"
    monoid = PROD
    scan: ClassVar[type[Scan]] = CumProd


EXTREME = '''\
def extreme(reduction, x, axes, keepdims=False):
    """``jnp.max`` or ``jnp.min``; NaN if one is there: XLA for CPUs loses it among many elements.

    Those are compared by their bits, which as integers have the order of the numbers; if they are
    very many in rows that are reduced, NaN is looked for. What all points of jax.vmap reduce counts
    together.
    """
    def result(x):
        best = reduction(x, axes, keepdims=keepdims)
        if jax.default_backend() != "cpu" or x.size < 4096:
            return best
        if x.size >= 131072 and x.ndim - 1 in axes:
            return jnp.where(jnp.any(jnp.isnan(x), axes, keepdims=keepdims), jnp.nan, best)
        whole = jnp.dtype(f"int{8 * x.dtype.itemsize}")
        turned = lambda i: i ^ ((i >> (8 * i.dtype.itemsize - 1)) & jnp.iinfo(whole).max)
        last = lax.bitcast_convert_type(jnp.array(jnp.nan, x.dtype), whole)
        last = last if reduction is jnp.max else ~last
        keys = jnp.where(jnp.isnan(x), last, turned(lax.bitcast_convert_type(x, whole)))
        best = reduction(keys, axes, keepdims=keepdims)
        return lax.bitcast_convert_type(turned(best), x.dtype)
    call = jax.custom_batching.custom_vmap(result)
    later = [a + 1 for a in axes]
    call.def_vmap(lambda size, mapped, x: (extreme(reduction, x, later, keepdims), True))
    return call(x)
'''
"""Stands in front of kernels with extremes of `f32` and `f64`, and minima of `bf16` and `f16`. XLA
computes those of 4096 elements and more by a library that loses NaN (JAX 0.10.2), as does
``jnp.max``. 2026-11-27, CPU us on one core of maxima along the last axis and the first: by bits 23
and 18 of 200 x 200 elements, 69 and 27 of 300 x 300, 239 and 103 of 512 x 512, 1420 and 750 of
1000 x 1000; with a search for NaN 28 and 23, 50 and 40, 108 and 77, 750 and 560. Bits are joined to
what computes the elements: tables that are filled interval by interval (`nussinov`) took more than
twice as long with the search, 40 of them 28.7 ms, by bits 10.7. Along the first axis of 512 x 512
elements, 40 x 80 x 80 and 1000 x 1000, 2026-11-28: sums of two arrays by bits 120, 160 and 1160,
with the search 168, 233 and 5106; what is stored 118, 239 and 728, with it 74, 234 and 778."""

GREATEST = '''\
def greatest(x, axes, keepdims=False):
    """``jnp.max``; NaN if one is there and the others are infinite.

    A finite one may lose NaN, which comes back in what it is subtracted from.
    """
    def result(x):
        best = jnp.max(x, axes, keepdims=keepdims)
        if jax.default_backend() != "cpu" or x.size < 4096:
            return best
        odd = lambda: jnp.any(jnp.isnan(x), axes, keepdims=keepdims)
        searched = lambda: jnp.where(odd(), jnp.nan, best)
        return lax.cond(jnp.any(jnp.isinf(best)), searched, lambda: best)
    call = jax.custom_batching.custom_vmap(result)
    later = [a + 1 for a in axes]
    call.def_vmap(lambda size, mapped, x: (greatest(x, later, keepdims), True))
    return call(x)
'''
"""Stands in front of kernels with maxima of exponents in a ``logsumexp`` that are read beside it.
2026-11-28, CPU ms of `sinkhorn`, 98 of 96 x 64 elements and their derivatives: 1.8, by bits 3.4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Max(Reduction):
    """The greatest element; NaN if there is one. The axes must not be empty.

    XLA may lose NaN among many elements of the dtypes ``lossy``.
    ``loses_nan``: emitted code may give another number where there is NaN; a finite one, but no
    infinite one, with ``loses_finite_nan``.
    """

    loses_nan: bool = False
    loses_finite_nan: bool = False

    name, jax = "max", "jnp.max"
    layout_agnostic = True
    monoid = MAX
    scan: ClassVar[type[Scan]] = CumMax
    nonempty = extreme = True
    lossy: ClassVar[tuple[DType, ...]] = (DType.F32, DType.F64)

    def kind(self, operand: PromotedType) -> PromotedType:
        """That of the operand."""
        if operand[0] is DType.KEY:
            raise OperandError(f"{self.name} takes numbers, not key")
        return operand

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Mask, then reduce; NaN that would be lost is looked for."""
        dtype = results[0].dtype
        x, axes = self.prepared(args[0], dtype, out)
        if not axes or self.loses_nan or dtype not in self.lossy:
            return (self.call(self.jax, x, axes) if axes else x,)
        keepdims = ", True" if self.keepdims else ""
        if self.loses_finite_nan and self.monoid is MAX:
            return (f"greatest({x}, {axes}{keepdims})",)
        return (f"extreme({self.jax}, {x}, {axes}{keepdims})",)


class Min(Max):
    """The least element; NaN if there is one. The axes must not be empty."""

    __slots__ = ()
    name, jax = "min", "jnp.min"
    monoid, scan = MIN, CumMin
    lossy = (*Max.lossy, DType.BF16, DType.F16)


class Any(Reduction):
    """Whether any element of a ``bool`` tensor holds; false of nothing."""

    __slots__ = ()
    name, jax = "any", "jnp.any"
    layout_agnostic = True
    monoid = ANY
    scan: ClassVar[type[Scan]] = CumMax
    differentiable = False

    def kind(self, operand: PromotedType) -> PromotedType:
        """``bool`` alone."""
        if operand[0] is not DType.BOOL:
            raise OperandError(
                f"{self.name} takes bool, not {operand[0].value}",
                help="compare first, as in x != 0",
            )
        return operand


class All(Any):
    """Whether all elements of a ``bool`` tensor hold; true of nothing."""

    __slots__ = ()
    name, jax = "all", "jnp.all"
    monoid, scan = ALL, CumMin


class RealReduction(Reduction):
    """A reduction of real numbers: integers become ``f32``."""

    __slots__ = ()

    def kind(self, operand: PromotedType) -> PromotedType:
        """Floating point."""
        return inexact(operand)

    def convert(self, x: Array) -> Array:
        """Floating point."""
        return real(x)


class Mean(RealReduction):
    """The sum divided by the number of elements; NaN of nothing."""

    __slots__ = ()
    name, jax = "mean", "jnp.sum"
    layout_agnostic = True
    monoid, scan = SUM, CumSum

    def compute(self, x: Array, axes: tuple[int, ...]) -> Array:
        """A sum and a division."""
        count = x.dtype.type(np.prod([x.shape[a] for a in axes]))
        return np.asarray(np.sum(x, axis=axes, keepdims=self.keepdims) / count)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The true extents count, not the padded ones."""
        dtype = results[0].dtype
        wide = dtype.wide
        x, axes = self.prepared(args[0], wide, out)
        if not axes:
            return (cast(x, wide, dtype),)
        count = bare(element_count(args[0], axes, wide, out))
        total = f"{self.call(self.jax, x, axes)} / {count}"
        return (cast(total if wide is dtype else f"({total})", wide, dtype),)


def element_count(v: EmittedValue, axes: tuple[int, ...], dtype: DType, out: Emitter) -> str:
    """The true number of elements along these axes, as a scalar of the dtype."""
    return f"{jax_dtype(dtype)}({out.index(ix.product(v.type.shape[a] for a in axes))})"


class Var(RealReduction):
    """The mean of the squared distances from the mean, as in NumPy; NaN of nothing."""

    __slots__ = ()
    name, jax = "var", "jnp.sum"
    passes = 4

    def compute(self, x: Array, axes: tuple[int, ...]) -> Array:
        """Two passes."""
        count = x.dtype.type(np.prod([x.shape[a] for a in axes]))
        away = x - np.sum(x, axis=axes, keepdims=True) / count
        return np.asarray(np.sum(away * away, axis=axes, keepdims=self.keepdims) / count)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Mask twice: the distance of a masked 0 from the mean is not 0."""
        dtype = results[0].dtype
        wide = dtype.wide
        x, axes = self.prepared(args[0], wide, out)
        v = pads.with_own_padding(args[0], out)
        if not axes:
            return (f"jnp.zeros_like({cast(x, wide, dtype)}) * {cast(x, wide, dtype)}",)
        count = out.bind("count", element_count(args[0], axes, wide, out))
        mean = out.bind("mean", f"jnp.sum({x}, axis={axes_text(axes)}, keepdims=True) / {count}")
        away = out.bind("away", f"{x} - {mean}")
        shaped = EmittedValue(away, TensorType(wide, v.type.shape), v.padded)
        deviations = out.masked(shaped, axes, self.neutral(wide))
        total = f"{self.call(self.jax, f'{deviations} * {deviations}', axes)} / {count}"
        return (cast(total if wide is dtype else f"({total})", wide, dtype),)


class LogSumExp(RealReduction):
    """``log(sum(exp(x)))`` without overflow; ``-inf`` of nothing."""

    __slots__ = ()
    name, jax = "logsumexp", "jax.nn.logsumexp"
    monoid, scan = LOGSUMEXP, CumLogSumExp
    passes = 4

    def compute(self, x: Array, axes: tuple[int, ...]) -> Array:
        """Relative to the greatest element, unless that is infinite."""
        top = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, np.zeros((), x.dtype)).astype(x.dtype)
        total = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=True)) + top
        return np.asarray(total if self.keepdims else np.squeeze(total, axis=axes))
