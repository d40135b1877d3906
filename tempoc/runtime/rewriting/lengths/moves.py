"""Operators that move elements: what counts stays in front, and what was padding is never read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tempoc.runtime.rewriting.lengths.padding import Padding, require, static
from tempoc.runtime.rewriting.lengths.rule import PaddedOperation, PaddingRule
from tempoc.runtime.rewriting.lengths.sizes import (
    PaddedShape,
    PaddedSize,
    VaryingSize,
    grows,
    is_ragged,
    minus,
    plus,
    times,
)


def _slice(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array, shape, starts = given[0], op.made[0], op.how["start_indices"]
    strides = static(op.how["strides"] or (1,) * array.ndim)
    for axis, start in enumerate(starts):
        if isinstance(start, VaryingSize):
            size = op.padding.size(shape[axis])
            require(grows(start) and strides[axis] == 1)
            require(op.padding.size(start) + size <= array.shape[axis])
            array = lax.dynamic_slice_in_dim(array, op.padding.count(start), size, axis)
        else:
            end = start + (op.padding.size(shape[axis]) - 1) * strides[axis] + 1
            require(end <= array.shape[axis])
            array = lax.slice_in_dim(array, start, max(end, start), strides[axis], axis)
    return [array]


def _dynamic_slice(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array, shape, sizes = given[0], op.given[0], op.how["slice_sizes"]
    starts, most = _clamped(op.padding, given[1:], shape, sizes), op.padding.shape(sizes)
    for whole, part, start, there, padded in zip(
        shape, sizes, given[1:], array.shape, most, strict=True
    ):
        require(grows(part) and (grows(minus(whole, part)) or _fits(start, padded, there)))
    return op.bound([array, *starts], slice_sizes=most)


def _clamped(
    padding: Padding, starts: Sequence[Any], whole: PaddedShape, part: PaddedShape
) -> list[Any]:
    """Starts of parts, moved such that these lie within what counts, as without padding."""
    clamped = []
    for start, a, b in zip(starts, whole, part, strict=True):
        last = minus(a, b)
        if isinstance(last, VaryingSize):
            end = jnp.asarray(padding.count(last), start.dtype)
            start = lax.clamp(jnp.zeros((), start.dtype), start, end)
        clamped.append(start)
    return clamped


def _dynamic_update(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array, update = given[:2]
    whole, part = op.given[:2]
    starts = _clamped(op.padding, given[2:], whole, part)
    for axis, (a, b) in enumerate(zip(whole, part, strict=True)):
        fits = _fits(given[2 + axis], update.shape[axis], array.shape[axis])
        require(grows(b) and (grows(minus(a, b)) or fits))
        if isinstance(b, VaryingSize) and a != b and not _ends_together(op, given, axis):
            before = lax.dynamic_slice(array, starts, update.shape, allow_negative_indices=False)
            places = lax.broadcasted_iota(jnp.int32, update.shape, axis)
            update = lax.select(op.padding.counts(b, places), update, before)
    return op.bound([array, update, *starts])


def _fits(start: Any, padded: int, there: int) -> bool:
    """Whether a part with its padding ends within an array, wherever the part itself ends."""
    return isinstance(start, np.ndarray) and 0 <= int(start) <= there - padded


def _ends_together(op: PaddedOperation, given: Sequence[Any], axis: int) -> bool:
    """Whether the padding of an update becomes padding, as it ends where the array does."""
    missing, start = minus(op.given[0][axis], op.given[1][axis]), given[2 + axis]
    return isinstance(missing, int) and isinstance(start, np.ndarray) and int(start) >= missing


def _concatenate(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    axis = op.how["dimension"]
    sizes = [shape[axis] for shape in op.given]
    if not is_ragged(sizes[:-1]):
        return op.bound(given)
    whole = jnp.zeros(op.padding.shape(op.made[0]), given[0].dtype)
    start: PaddedSize = 0
    for part, size in zip(given, sizes, strict=True):
        # Each overwrites the padding of the one before it.
        require(grows(size))
        whole = lax.dynamic_update_slice_in_dim(whole, part, op.padding.count(start), axis)
        start = plus(start, size)
    return [whole]


def _pad(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array, value = given
    shape, made = op.given[0], op.made[0]
    for axis, (low, high, interior) in enumerate(op.how["padding_config"]):
        inner = static((interior,))[0]
        require(isinstance(low, int) and (low >= 0 or inner == 0))
        filled = array.shape[axis] + max(array.shape[axis] - 1, 0) * inner
        config = [(0, 0, 0)] * array.ndim
        config[axis] = (low, op.padding.size(made[axis]) - low - filled, inner)
        array = lax.pad(array, value, config)
        if isinstance(shape[axis], VaryingSize) and high != 0:
            spread = times(shape[axis], 1 + inner)
            end = plus(plus(spread, -inner), low)
            places = lax.broadcasted_iota(jnp.int32, array.shape, axis)
            rest = lax.broadcast(value, array.shape)
            array = lax.select(op.padding.counts(end, places), array, rest)
    return [array]


def _rev(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array = given[0]
    for axis in op.how["dimensions"]:
        turned = lax.rev(array, (axis,))
        size = op.given[0][axis]
        if isinstance(size, VaryingSize):
            # The padding now stands in front.
            most = array.shape[axis]
            config = [(0, most if k == axis else 0, 0) for k in range(array.ndim)]
            longer = lax.pad(turned, jnp.zeros((), array.dtype), config)
            turned = lax.dynamic_slice_in_dim(longer, most - op.padding.count(size), most, axis)
        array = turned
    return [array]


def _reshape(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    """Where the longest axis of those that are joined, or split, is the first, padding stays last.

    Elsewhere elements are gathered.
    """
    array, before, after = given[0], op.given[0], op.made[0]
    require(op.how.get("dimensions") is None)
    axis = 0
    for old, new in _groups(op.padding, before, after):
        a, b = before[old], after[new]
        if is_ragged((*_inner(a), *_inner(b))):
            shape = array.shape
            part = shape[axis : axis + len(a)]
            flat = array.reshape(*shape[:axis], -1, *shape[axis + len(a) :])
            places = _places_in(op.padding, a, part, b)
            array = jnp.take(flat, places, axis=axis, mode="clip")
        else:
            shape = array.shape
            array = array.reshape(*shape[:axis], *op.padding.shape(b), *shape[axis + len(a) :])
        axis += len(b)
    return [array]


def _inner(sizes: Sequence[PaddedSize]) -> Sequence[PaddedSize]:
    """The sizes behind the first that is not 1."""
    first = next((k for k, size in enumerate(sizes) if size != 1), len(sizes))
    return sizes[first + 1 :]


def _places_in(padding: Padding, old: PaddedShape, padded: Sequence[int], new: PaddedShape) -> Any:
    """Where the elements of new axes stand in old ones, which are padded and flat."""
    made = padding.shape(new)
    require(math.prod(made) <= np.iinfo(np.int32).max)
    number: Any = jnp.zeros(made, jnp.int32)
    for axis, size in enumerate(new):
        number = number * padding.count(size) + lax.broadcasted_iota(jnp.int32, made, axis)
    place, step = jnp.zeros(made, jnp.int32), 1
    for size, there in zip(reversed(old), reversed(padded), strict=True):
        count = padding.count(size)
        place = place + number % count * step
        number = number // count
        step *= there
    return place


def _groups(
    padding: Padding, before: PaddedShape, after: PaddedShape
) -> Iterator[tuple[slice, slice]]:
    """Axes that become others, in groups as small as possible."""
    first = second = i = j = 0
    a: PaddedSize = 1
    b: PaddedSize = 1
    while i < len(before) or j < len(after):
        if i < len(before) and (padding.size(a) <= padding.size(b) or j == len(after)):
            a = times(a, before[i])
            i += 1
        else:
            require(j < len(after))
            b = times(b, after[j])
            j += 1
        if a == b:
            yield slice(first, i), slice(second, j)
            first, second, a, b = i, j, 1, 1
    require(first == i and second == j)


RULES: Mapping[str, PaddingRule] = {
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update,
    "concatenate": _concatenate,
    "pad": _pad,
    "rev": _rev,
    "reshape": _reshape,
}
