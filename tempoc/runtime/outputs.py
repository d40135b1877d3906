"""Collects results: cells of stores become one numpy array for each output."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from tempoc.program.arith import evaluate
from tempoc.program.nodes import Output, Span
from tempoc.runtime import backend
from tempoc.runtime.backend import DeviceArray
from tempoc.runtime.dtypes import NUMPY, Array
from tempoc.runtime.stores import KeyedCells, Layout
from tempoc.runtime.walk import is_local


def collect(
    output: Output,
    layout: Layout,
    cells: KeyedCells | DeviceArray,
    bounds: Mapping[str, int],
) -> Array:
    """The output's array: an axis for each span among its entries, then the spatial axes."""
    indices = {
        dim: _indices(entry, bounds) for dim, entry in zip(output.dims, output.entries, strict=True)
    }
    spans = [d for d, e in zip(output.dims, output.entries, strict=True) if isinstance(e, Span)]
    shape = tuple(evaluate(e, bounds) for e in output.shape)
    if is_local(layout):
        # Either there are no keys, or their only slot holds the only point that can be read.
        keyed = [d for d in spans if d in layout.keys]
        part = _cell(layout, backend.host(cells), indices, output, shape)
        for d in keyed:
            part = np.expand_dims(part, spans.index(d))
        return np.broadcast_to(part, (*(len(indices[d]) for d in spans), *shape))
    assert isinstance(cells, KeyedCells)
    result = np.empty((*(len(indices[d]) for d in spans), *shape), NUMPY[output.dtype])
    for places in itertools.product(*(range(len(indices[d])) for d in layout.keys)):
        key = layout.slot(tuple(indices[d][i] for d, i in zip(layout.keys, places, strict=True)))
        where = dict(zip(layout.keys, places, strict=True))
        target = tuple(where.get(d, slice(None)) for d in spans)
        array = backend.host(cells[key[0] if len(key) == 1 else key])
        result[target] = _cell(layout, array, indices, output, shape)
    return result


def _indices(entry: object, bounds: Mapping[str, int]) -> range:
    """The points that an entry reads."""
    if isinstance(entry, Span):
        lower, upper = evaluate(entry.lower, bounds), evaluate(entry.upper, bounds)
        return range(lower, max(lower, upper), entry.step)
    point = evaluate(entry, bounds)  # type: ignore[arg-type]
    return range(point, point + 1)


def _cell(
    layout: Layout,
    array: Array,
    indices: Mapping[str, range],
    output: Output,
    shape: tuple[int, ...],
) -> Array:
    """What one array contributes: its axes cut to the entries, padding dropped."""
    entries = dict(zip(output.dims, output.entries, strict=True))
    array = array.transpose([layout.order.index(k) for k in range(array.ndim)])
    for axis, (dim, ring) in enumerate(zip(layout.axes, layout.rings, strict=True)):
        points = indices[dim]
        if ring:
            array = array.take([p % ring for p in points], axis=axis)
        else:
            cut = slice(points.start, points.stop, points.step)
            array = array[(slice(None),) * axis + (cut,)]
    array = array[(slice(None),) * len(layout.axes) + tuple(slice(0, n) for n in shape)]
    dropped = tuple(i for i, d in enumerate(layout.axes) if not isinstance(entries[d], Span))
    return array.squeeze(dropped) if dropped else array
