"""Reads and writes at positions that data say: none is in padding, none is made of padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.lax import GatherScatterMode as Mode

from tempoc.runtime.rewriting.lengths.padding import Padding, require
from tempoc.runtime.rewriting.lengths.rule import PaddedOperation, PaddingRule
from tempoc.runtime.rewriting.lengths.sizes import (
    PaddedShape,
    PaddedSize,
    VaryingSize,
    is_ragged,
    minus,
)


def _gather(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array, positions = given
    shape, sizes, how = op.given[0], op.how["slice_sizes"], op.how["dimension_numbers"]
    for axis, (whole, part) in enumerate(zip(shape, sizes, strict=True)):
        require(part == whole or isinstance(part, int))
        require(axis in how.start_index_map or part == whole or part == 1)
    mode = op.how["mode"]
    if is_ragged(shape[axis] for axis in how.start_index_map):
        ends = [minus(shape[axis], sizes[axis]) for axis in how.start_index_map]
        outside = [op.padding.size(shape[axis]) for axis in how.start_index_map]
        positions = _within(op.padding, positions, ends, outside, mode)
    made = op.bound(
        [array, positions],
        slice_sizes=op.padding.shape(sizes),
        indices_are_sorted=False,
        unique_indices=False,
    )
    return made


def _within(
    padding: Padding, positions: Any, ends: Sequence[PaddedSize], outside: Sequence[int], mode: Mode
) -> Any:
    """Positions, those beyond the ends as the mode says: at the end, or outside of the array."""
    if mode == Mode.PROMISE_IN_BOUNDS:
        return positions
    require(mode in (Mode.CLIP, Mode.FILL_OR_DROP))
    last = jnp.stack([jnp.asarray(padding.count(e), positions.dtype) for e in ends])
    if mode == Mode.CLIP:
        return jnp.clip(positions, jnp.zeros_like(last), last)
    away = jnp.asarray(outside, positions.dtype)
    return jnp.where((positions < 0) | (positions > last), away, positions)


_SCATTERS = {
    "scatter": lax.scatter,
    "scatter-add": lax.scatter_add,
    "scatter-mul": lax.scatter_mul,
    "scatter-min": lax.scatter_min,
    "scatter-max": lax.scatter_max,
}


def _scatter(op: PaddedOperation, given: Sequence[Any]) -> Sequence[Any]:
    array, positions, updates = given
    shape, of_positions, of_updates = op.given
    how, mode = op.how["dimension_numbers"], op.how["mode"]
    axes = how.scatter_dims_to_operand_dims
    windows = _windows(how, shape, of_updates)
    for whole, part in windows.values():
        require(part == whole or isinstance(part, int))
    ends = [minus(shape[axis], windows[axis][1] if axis in windows else 1) for axis in axes]
    outside = [array.shape[axis] for axis in axes]
    ragged = is_ragged((*of_positions, *(shape[a] for a in axes)))
    if ragged:
        positions = _within(op.padding, positions, ends, outside, mode)
        away = jnp.broadcast_to(jnp.asarray(outside, positions.dtype), positions.shape)
        for axis, size in enumerate(of_positions[:-1]):
            if isinstance(size, VaryingSize):
                places = lax.broadcasted_iota(jnp.int32, positions.shape, axis)
                positions = lax.select(op.padding.counts(size, places), positions, away)
        mode = Mode.FILL_OR_DROP
    made = _SCATTERS[op.primitive.name](
        array,
        positions,
        updates,
        how,
        indices_are_sorted=op.how["indices_are_sorted"] and not ragged,
        unique_indices=op.how["unique_indices"] and not ragged,
        mode=mode,
    )
    return [made]


def _windows(
    how: Any, whole: PaddedShape, updates: PaddedShape
) -> dict[int, tuple[PaddedSize, PaddedSize]]:
    """The axes of an array of which an update has a range: their sizes, and that of the range."""
    left_out = {*how.inserted_window_dims, *how.operand_batching_dims}
    ranged: Iterator[int] = (axis for axis in range(len(whole)) if axis not in left_out)
    return {
        axis: (whole[axis], updates[k])
        for axis, k in zip(ranged, how.update_window_dims, strict=True)
    }


RULES: Mapping[str, PaddingRule] = {"gather": _gather, **dict.fromkeys(_SCATTERS, _scatter)}
