"""Searching and ordering: the place of the greatest, the greatest few, sorting.

NaN counts as greater than everything, and for ``argmin`` as less. Padding comes after all that is
valid: it holds the value that is chosen last, and of equals the first is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from tempoc.base.arrays import np
from tempoc.base.python_text import literal
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same, untouched_links
from tempoc.ops.definition.dtype_text import greatest, least, numpy_dtype, scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import common, promote, widened
from tempoc.ops.definition.shapes import axes_of, axis_of, require, shape_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.tensor.reduction import kept_shape, require_nonempty
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgMax(Op):
    """The index (``i32``) of the first greatest element, NaN first of all.

    ``axis = None``: the index into the flattened tensor. The axes must not be empty.
    """

    axis: int | None = None
    keepdims: bool = False

    name = "argmax"
    heavy = True
    differentiable = False
    jax: ClassVar[str] = "jnp.argmax"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape without the axis."""
        require(args, 1, self.name)
        if args[0].dtype is DType.KEY:
            raise OperandError(f"{self.name} takes numbers, not key")
        axes = axes_of(None if self.axis is None else (self.axis,), args[0].ndim)
        require_nonempty(args[0].shape, axes, self.name, facts)
        return (TensorType(DType.I32, kept_shape(args[0].shape, axes, self.keepdims)),)

    def search(self, x: Array) -> Array:
        """The search itself."""
        return np.asarray(np.argmax(x, axis=self.axis, keepdims=self.keepdims))

    def neutral(self, dtype: DType) -> str:
        """What is never found before a valid element."""
        return least(dtype)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element of the operand."""
        return ix.product(args[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        return (self.search(widened(args[0])).astype(np.int32),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """What is not searched stays in its order."""
        gone = axes_of(None if self.axis is None else (self.axis,), args[0].ndim)
        for axis in range(args[0].ndim):
            before = 0 if self.keepdims else sum(g < axis for g in gone)
            if axis not in gone:
                yield Link((axis,), (axis - before,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """An index into a flattened padded tensor is taken apart and put together again."""
        v = pads.with_own_padding(args[0], out)
        axes = axes_of(None if self.axis is None else (self.axis,), v.type.ndim)
        x = out.masked(v, axes, self.neutral(v.type.dtype))
        axis = "" if self.axis is None else f", axis={self.axis}"
        keepdims = ", keepdims=True" if self.keepdims else ""
        call = f"{self.jax}({x}{axis}{keepdims}).astype(jnp.int32)"
        if self.axis is not None or not any(v.is_ragged(k) for k in range(1, v.type.ndim)):
            return (call,)
        place = out.bind("place", call)
        padded = ", ".join(out.static(e) for e in v.padded)
        parts = out.bind("places", f"jnp.unravel_index({place}, ({padded},))")
        flat = f"{parts}[0]"
        for k in range(1, v.type.ndim):
            flat = f"({flat}) * {pads.atom(out.index(v.type.shape[k]))} + {parts}[{k}]"
        return (f"({flat}).astype(jnp.int32)",)


class ArgMin(ArgMax):
    """The index (``i32``) of the first least element, NaN first of all; see ``argmax``."""

    __slots__ = ()
    name = "argmin"
    jax = "jnp.argmin"

    def search(self, x: Array) -> Array:
        """The search itself."""
        return np.asarray(np.argmin(x, axis=self.axis, keepdims=self.keepdims))

    def neutral(self, dtype: DType) -> str:
        """What is never found before a valid element."""
        return greatest(dtype)


def _last(dtype: DType) -> str:
    """What sorts after everything valid: NaN, or the greatest integer (sorting is stable)."""
    return scalar(math.nan, dtype) if dtype.is_float else greatest(dtype)


def _orderable(args: tuple[TensorType, ...], name: str) -> None:
    require(args, 1, name)
    if args[0].dtype is DType.KEY:
        raise OperandError(f"{name} takes numbers, not key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering(Op):
    """The elements along an axis in ascending order."""

    axis: int = -1

    heavy = True

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element: the logarithm of the extent is left out."""
        return ix.product(args[0].shape)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the one along which elements are ordered."""
        return untouched_links(args[0].ndim, (axis_of(self.axis, args[0].ndim),))

    def padded_last(self, v: EmittedValue, out: Emitter) -> tuple[str, int]:
        """The operand with padding that sorts last, and the axis."""
        v = pads.with_own_padding(v, out)
        axis = axis_of(self.axis, v.type.ndim)
        return out.masked(v, (axis,), _last(v.type.dtype)), axis


class Sort(Ordering):
    """Ascending along an axis; NaN comes last."""

    __slots__ = ()
    name = "sort"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The operand's type."""
        _orderable(args, self.name)
        axis_of(self.axis, args[0].ndim)
        return args

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy, stable: equal zeros keep their order, whatever their signs."""
        y = np.sort(widened(args[0]), axis=self.axis, kind="stable")
        return (y.astype(args[0].dtype),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding is made to sort last."""
        x, axis = self.padded_last(args[0], out)
        function = "in_order" if args[0].type.dtype.is_float else "jnp.sort"
        return (f"{function}({x}, axis={axis})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgSort(Ordering):
    """The places (``i32``) of the elements in ascending order; equals keep their order.

    With ``count`` those of so many least elements of the last axis, which takes less time.
    """

    count: int | None = None

    name = "argsort"
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The operand's shape, cut after ``count``; there must be as many elements."""
        _orderable(args, self.name)
        shape, axis = args[0].shape, axis_of(self.axis, args[0].ndim)
        if self.count is None:
            return (TensorType(DType.I32, shape),)
        count, extent = ix.Const(self.count), shape[axis]
        fits = self.count >= 0 and facts.holds(ix.compare("<=", count, extent))
        if axis != args[0].ndim - 1 or not fits:
            raise OperandError(f"argsort cannot take {self.count} elements of {show(extent)}")
        return (TensorType(DType.I32, (*shape[:-1], count)),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy, stable."""
        places = np.argsort(widened(args[0]), axis=self.axis, kind="stable").astype(np.int32)
        return (places if self.count is None else places[..., : self.count],)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding is made to sort last."""
        x, axis = self.padded_last(args[0], out)
        if self.count is not None:
            return (f"least_first({x}, {self.count}).astype(jnp.int32)",)
        return (f"argsorted({x}, {axis})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK(Op):
    """The ``k`` greatest elements of the last axis, greatest first, and their places (``i32``).

    Of equals the first comes first; NaN counts as greatest.
    """

    k: int

    name = "top_k"
    heavy = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Two results of extent ``k``; the axis must have that many elements."""
        _orderable(args, self.name)
        axis = axis_of(-1, args[0].ndim)
        extent = args[0].shape[axis]
        if self.k < 0 or not facts.holds(ix.compare("<=", ix.Const(self.k), extent)):
            help = f"{show(extent)} has to be at least {self.k}: `assume` it, or use `when`"
            missing = f"top_k cannot take {self.k} elements of {show(extent)}"
            decided = self.k < 0 or isinstance(extent, ix.Const)
            raise OperandError(missing, None if decided else help)
        shape = (*args[0].shape[:-1], ix.Const(self.k))
        return (TensorType(args[0].dtype, shape, args[0].weak), TensorType(DType.I32, shape))

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element: the logarithm of the extent is left out."""
        return ix.product(args[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """A stable ascending sort of the axis turned around, read from its end."""
        x = args[0]
        order = np.argsort(widened(x)[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        places = (x.shape[-1] - 1 - order)[..., : self.k]
        return np.take_along_axis(x, places, axis=-1), places.astype(np.int32)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes but the last."""
        return untouched_links(args[0].ndim, (args[0].ndim - 1,), 2)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding holds the least value, behind all that is valid."""
        v = pads.with_own_padding(args[0], out)
        last = v.type.ndim - 1
        x = out.masked(v, (last,), least(v.type.dtype))
        function = "greatest_first" if v.type.dtype.is_float else "lax.top_k"
        top = out.bind("top", f"{function}({x}, {self.k})")
        return f"{top}[0]", f"{top}[1].astype(jnp.int32)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSorted(Op):
    """``searchsorted(a, v)``: where each ``v`` would stand (``i32``) in the ascending vector ``a``.

    How many elements of ``a`` are less than ``v``; with ``side = "right"``, less or equal. NaN
    counts as greater than everything. Nobody checks that ``a`` is in order: if it is not, the
    result is some number from 0 to its extent.
    """

    side: Literal["left", "right"] = "left"

    name = "searchsorted"
    promotes = True
    heavy = True
    differentiable = False

    def meeting(self, types: tuple[TensorType, ...]) -> DType | None:
        """Both operands are compared in one dtype."""
        return promote(types)[0]

    def settle(self, args: tuple[Array, ...], types: tuple[TensorType, ...]) -> tuple[Array, ...]:
        """Converted to that dtype."""
        dtype = numpy_dtype(promote(types)[0])
        with np.errstate(all="ignore"):
            return tuple(a.astype(dtype, copy=False) for a in args)

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape of the second operand; the first one is a vector."""
        require(args, 2, self.name)
        if self.side not in ("left", "right"):
            raise OperandError(f'searchsorted takes side "left" or "right", not "{self.side}"')
        for a in args:
            if a.dtype in (DType.BOOL, DType.KEY):
                raise OperandError(f"searchsorted takes numbers, not {a.dtype.value}")
        if args[0].ndim != 1:
            raise OperandError(
                f"searchsorted looks in a vector, not in {shape_text(args[0].shape)}"
            )
        return (TensorType(DType.I32, args[1].shape),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each place: the logarithm of the extent is left out."""
        return ix.product(results[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy."""
        a, v = (widened(x) for x in common(args))
        return (np.asarray(np.searchsorted(a, v, side=self.side)).astype(np.int32),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """All axes of what is looked for."""
        for axis in range(results[0].ndim):
            yield Link((None, axis), (axis,))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding sorts last; what stands behind it stands at the end."""
        dtype = promote(a.type for a in args)[0].wide
        a, v = (pads.converted(pads.with_own_padding(x, out), dtype, out) for x in args)
        side = literal(self.side)
        call = f"jnp.searchsorted({out.masked(a, (0,), _last(dtype))}, {v.text}, side={side})"
        if a.is_ragged(0):
            call = f"jnp.minimum({call}, {out.index(a.type.shape[0])})"
        return (f"{call}.astype(jnp.int32)",)


GREATEST_FIRST = '''\
def greatest_first(x, k):
    """lax.top_k, which puts 0.0 before -0.0 and a negative NaN last, by the order of numbers.

    In a loop XLA for CPUs would sort all elements if one place is read here and another one there.
    """
    order = jnp.where(x == 0, 0, jnp.where(x == x, x, jnp.nan)).astype(x.dtype)
    places = lax.optimization_barrier(lax.top_k(order, k))[1]
    return jnp.take_along_axis(x, places, axis=-1), places
'''


LEAST_FIRST = '''\
def least_first(x, k):
    """The first k of jnp.argsort: lax.top_k puts 0.0 before -0.0 and a negative NaN last.

    In a loop XLA for CPUs would sort all elements if one place is read here and another one there.
    """
    if jnp.issubdtype(x.dtype, jnp.floating):
        order = jnp.where(x == 0, 0, jnp.where(x == x, -x, -jnp.nan)).astype(x.dtype)
    else:
        order = ~x
    return lax.optimization_barrier(lax.top_k(order, k))[1]
'''


ARGSORTED = '''\
def argsorted(x, axis):
    """The places of jnp.argsort(x, axis, stable=True).

    XLA for CPUs calls a function to compare pairs, or floats, but sorts integers by itself. So here
    it sorts integers of 64 bits: those of 32 that are in the order of numbers, before the places.
    """
    if jax.default_backend() != "cpu" or x.dtype.itemsize > 4:
        return jnp.argsort(x, axis=axis, stable=True).astype(jnp.int32)
    x = jnp.moveaxis(x, axis, -1)
    if jnp.issubdtype(x.dtype, jnp.floating):
        bits = lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32)
        size = bits & jnp.uint32(2**31 - 1)  # not by floats, of which tiny ones are taken for 0
        bits = jnp.where(size == 0, 0, jnp.where(size > 0x7F800000, 2**31 - 1, bits))
        keys = jnp.where(bits >> 31 == 0, bits ^ jnp.uint32(2**31), ~bits)
    elif jnp.issubdtype(x.dtype, jnp.signedinteger):
        keys = lax.bitcast_convert_type(x.astype(jnp.int32), jnp.uint32) ^ jnp.uint32(2**31)
    else:
        keys = x.astype(jnp.uint32)
    places = lax.broadcasted_iota(jnp.uint32, x.shape, x.ndim - 1)
    with jax.enable_x64(True):
        pairs = lax.bitcast_convert_type(jnp.stack((places, keys), -1), jnp.uint64)
        places = lax.bitcast_convert_type(lax.sort(pairs), jnp.uint32)[..., 0]
    return jnp.moveaxis(places.astype(jnp.int32), -1, axis)
'''


IN_ORDER = '''\
def in_order(x, axis):
    """jnp.sort(x, axis) of floats: 0.0 and -0.0 keep their order (see `argsorted`)."""
    if jax.default_backend() != "cpu" or x.dtype.itemsize > 4:
        return jnp.sort(x, axis=axis)
    return jnp.take_along_axis(x, argsorted(x, axis), axis=axis)
'''
