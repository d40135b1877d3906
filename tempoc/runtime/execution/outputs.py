"""Collects outputs: assembles one numpy array for each output from the cells of its store."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes.nodes import OutputSpan, ProgramOutput
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.device import backend, resident
from tempoc.runtime.device.backend import DeviceArray
from tempoc.runtime.device.stores import KeyedCells, Layout, bare_key
from tempoc.runtime.messages import run as errors
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSlice:
    """How an output is read from its store, for given bounds.

    ``points`` are the points read along each dimension of the store, ``spans`` the dimensions that
    are axes of the output, ``extents`` its shape. The axes of a cell are put in their ``order``,
    the ``slots`` of some taken, then the ``index``; none of these are empty. ``is_cell``: the
    output is the whole cell.
    """

    layout: Layout
    dtype: str
    points: Mapping[str, range]
    spans: tuple[str, ...]
    extents: tuple[int, ...]
    order: tuple[int, ...]
    slots: Mapping[int, HostArray]
    index: tuple[Any, ...]
    is_cell: bool

    def __call__(self, cells: KeyedCells | DeviceArray) -> HostArray:
        """The output's array: an axis for each span among its entries, then the spatial axes."""
        if self.is_cell:
            return backend.host(cells)
        if self.layout.is_single:
            return self._single(backend.host(cells), np)  # type: ignore[no-any-return]
        result: HostArray = np.empty(self.extents, NUMPY[self.dtype])
        for places, cell in self._cells(cells):
            where = dict(zip(self.layout.keys, places, strict=True))
            target = tuple(where.get(d, slice(None)) for d in self.spans)
            result[target] = self.part(backend.host(cell))
        return result

    def on_device(self, cells: KeyedCells | DeviceArray) -> DeviceArray:
        """The same on the device; offloaded arrays stay on the host."""
        if self.layout.away:
            return self(cells)
        if self.is_cell:
            return resident.put(cells, self.dtype)
        if self.layout.is_single:
            return resident.put(self._single(cells, resident.namespace), self.dtype)
        parts = [self.part(cell) for _, cell in self._cells(cells)]
        keys = self.layout.keys
        return resident.joined(
            parts,
            counts=[len(self.points[d]) for d in keys],
            axes=[self.spans.index(d) if d in self.spans else None for d in keys],
            empty=(self.extents, self.dtype),
        )

    def _single(self, cell: Any, namespace: Any) -> Any:
        """Of a cell without keys, or with a single slot: that has the only point that is read."""
        part = self.part(cell)
        if part.shape == self.extents:
            return part
        for d in (d for d in self.spans if d in self.layout.keys):
            part = namespace.expand_dims(part, self.spans.index(d))
        return namespace.broadcast_to(part, self.extents)

    def _cells(self, cells: Any) -> Iterator[tuple[tuple[int, ...], DeviceArray]]:
        """The cells that the output reads, each with its place along each key."""
        assert isinstance(cells, KeyedCells)
        keys = self.layout.keys
        for places in itertools.product(*(range(len(self.points[d])) for d in keys)):
            pairs = zip(keys, places, strict=True)
            key = self.layout.slot(tuple(self.points[d][i] for d, i in pairs))
            yield places, cells[bare_key(key)]

    def part(self, array: Any) -> Any:
        """The part of one cell that the output reads, without padding."""
        if self.order:
            array = array.transpose(self.order)
        for axis, slots in self.slots.items():
            array = array.take(slots, axis=axis)
        return array[self.index] if self.index else array


def output_slice(output: ProgramOutput, layout: Layout, bounds: Mapping[str, int]) -> OutputSlice:
    """How to read an output from a store with this layout."""
    entries = dict(zip(output.dims, output.entries, strict=True))
    points = {dim: _indices(entry, bounds) for dim, entry in entries.items()}
    shape = tuple(evaluate(e, bounds) for e in output.shape)
    _check(output, layout, points, shape)
    slots: dict[int, HostArray] = {}
    index: list[Any] = []
    for dim, ring, every in zip(layout.axes, layout.rings, layout.every, strict=True):
        indices = points[dim]
        cut = slice(indices.start, indices.stop, indices.step)
        if ring or every > 1:
            rows = [p // every % ring if ring else p // every for p in indices]
            slots[len(index)], cut = np.array(rows, np.int32), slice(0, len(rows), 1)
        index.append(cut if isinstance(entries[dim], OutputSpan) else cut.start)
    index += [slice(0, n, 1) for n in shape]
    whole = not slots and layout.group < 0 and index == [slice(0, n, 1) for n in layout.extents]
    spans = tuple(d for d, e in entries.items() if isinstance(e, OutputSpan))
    single = layout.is_single and {*spans}.isdisjoint(layout.keys)
    return OutputSlice(
        layout=layout,
        dtype=output.dtype,
        points=points,
        spans=spans,
        extents=(*(len(points[d]) for d in spans), *shape),
        order=() if layout.is_plain else tuple(map(layout.order.index, range(len(index)))),
        slots=slots,
        index=() if whole else (*index, ...),
        is_cell=whole and layout.is_plain and single,
    )


def _check(
    output: ProgramOutput, layout: Layout, points: Mapping[str, range], shape: tuple[int, ...]
) -> None:
    """Raises ``RunError`` if an output reads what a cell does not have."""
    parts = zip(layout.axes, layout.rings, layout.every, strict=True)
    read = [0 if ring or not points[d] else points[d][-1] // n + 1 for d, ring, n in parts]
    for end, extent in zip((*read, *shape), layout.extents, strict=True):
        if not 0 <= end <= extent:
            raise RunError(errors.short_store(output.name, end, extent, layout.name))
    for dim in points:
        if points[dim] and points[dim][0] < 0:
            raise RunError(errors.short_store(output.name, points[dim].start, 0, layout.name))


def _indices(entry: object, bounds: Mapping[str, int]) -> range:
    """The points that an entry reads."""
    if isinstance(entry, OutputSpan):
        lower, upper = evaluate(entry.lower, bounds), evaluate(entry.upper, bounds)
        return range(lower, max(lower, upper), entry.step)
    point = evaluate(entry, bounds)  # type: ignore[arg-type]
    return range(point, point + 1)
