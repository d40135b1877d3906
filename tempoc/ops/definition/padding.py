"""Aligns operands of emitted code to the padded extents that an operator needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tempoc.ops.definition.dtype_text import cast, jax_dtype, tupled
from tempoc.ops.definition.operator import EmittedValue, Emitter
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.expr import Expr


def padded(shape: tuple[Expr, ...], out: Emitter) -> tuple[Expr, ...]:
    """The padded extents of a result with these true extents."""
    return tuple(out.pad(e) for e in shape)


def static_shape(extents: tuple[Expr, ...], out: Emitter) -> str:
    """Static extents as a tuple in emitted code, ``(T, 64)``."""
    return tupled([out.static(e) for e in extents])


def zeros(type: TensorType, out: Emitter) -> EmittedValue:
    """Zeros of a type."""
    shape = padded(type.shape, out)
    text = f"jnp.zeros({static_shape(shape, out)}, {jax_dtype(type.dtype)})"
    return EmittedValue(text, type, shape)


def with_own_padding(v: EmittedValue, out: Emitter) -> EmittedValue:
    """The operand aligned to the padding of its own extents."""
    return out.align(v, padded(v.type.shape, out))


def aligned_to(v: EmittedValue, shape: tuple[Expr, ...], out: Emitter) -> EmittedValue:
    """The operand aligned to a result's padded extents, except axes that broadcast."""
    target = shape[len(shape) - v.type.ndim :]
    extents = zip(v.type.shape, v.padded, target, strict=True)
    return out.align(
        v, tuple(ix.ONE if ix.ONE in (extent, have) else want for extent, have, want in extents)
    )


def converted(v: EmittedValue, dtype: DType, out: Emitter) -> EmittedValue:
    """The operand in another dtype, bound to a name of its own."""
    if v.type.dtype is dtype:
        return v
    name = out.bind(dtype.value, cast(v.text, v.type.dtype, dtype))
    return replace(v, text=name, type=TensorType(dtype, v.type.shape), finite=v.finite is True)


def saturated(v: EmittedValue, out: Emitter) -> EmittedValue:
    """Integers as ``i32``, and of what that cannot hold the nearest one that it can."""
    if v.type.dtype in (DType.I64, DType.U32):
        least = "0" if v.type.dtype is DType.U32 else "-2**31"
        v = replace(v, text=f"jnp.clip({v.text}, {least}, 2**31 - 1)")
    return converted(v, DType.I32, out)


def atom(text: str) -> str:
    """An expression's text, in brackets unless it is a name or a number."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def along(position: str, axis: int, ndim: int) -> str:
    """A vector shaped to broadcast along one axis of ``ndim``: ``p[:, None]``."""
    tail = ndim - 1 - axis
    return position if tail == 0 else f"{position}[:{', None' * tail}]"


def take_text(x: str, positions: str, axis: int) -> str:
    """Elements of ``x`` at positions along an axis; positions outside give undefined values.

    The padded axis must not be empty, since JAX clips to an existing element (``nonempty``).
    """
    return f'jnp.take({x}, {positions}, axis={axis}, mode="clip")'


WINDOW = '''\
def window(array, start, size, axis):
    """A slice of an axis, with zeros beyond its end: padding, or in a step that is never taken."""
    short = size - array.shape[axis]
    if short > 0:
        shape = (*array.shape[:axis], short, *array.shape[axis + 1 :])
        array = jnp.concatenate([array, jnp.zeros(shape, array.dtype)], axis)
    return lax.dynamic_slice_in_dim(array, start, size, axis)
'''
"""Stands in front of kernels that read a slice of an axis that is not known to have room for it."""


def window_text(x: str, start: str, size: Expr, axis: int, rows: Expr, out: Emitter) -> str:
    """As many elements of an axis from a position on, which are there wherever that is computed.

    ``rows`` is the padded extent of the axis.
    """
    name = "lax.dynamic_slice_in_dim" if out.fits(size, rows) else "window"
    return f"{name}({x}, {start}, {out.static(size)}, axis={axis})"


def first_text(x: str, size: Expr, axis: int, out: Emitter) -> str:
    """As many of the first elements of an axis, zeros beyond its end."""
    return f"window({x}, 0, {out.static(size)}, axis={axis})"


def nonempty(v: EmittedValue, axes: Iterable[int], out: Emitter) -> EmittedValue:
    """The operand with a padded extent of at least 1 along these axes."""
    roomy = list(v.padded)
    for k in axes:
        if not is_positive(roomy[k]):
            roomy[k] = ix.maximum(roomy[k], ix.ONE)
    return out.align(v, tuple(roomy))


def is_positive(e: Expr) -> bool:
    """Whether an expression over bounds (which are at least 1) is syntactically positive."""
    match e:
        case ix.Const(value=v):
            return v > 0
        case ix.Sym():
            return True
        case ix.IndexSum(terms=terms, const=k):
            grows = all(c > 0 and is_positive(x) for c, x in terms)
            return grows and k + sum(c for c, _ in terms) > 0
        case ix.IndexProduct(factors=args) | ix.IndexMin(args=args):
            return all(is_positive(a) for a in args)
        case ix.IndexMax(args=args):
            return any(is_positive(a) for a in args)
        case _:
            return False


def axis_positions(extent: Expr, out: Emitter) -> str:
    """The positions of an axis of this true extent, padding included."""
    return f"jnp.arange({out.static(out.pad(extent))}, dtype=jnp.int32)"
