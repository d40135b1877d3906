"""Host functions: NumPy arrays in and out, one call for each point.

All arrays are private copies, both ways: devices read memory late, and the user's code may keep
what it gets, change it, and reuse what it gave.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.functions import Extern
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.device import backend
from tempoc.runtime.host.externs import invoke, result_shapes
from tempoc.runtime.host.failure import ExternFailure, failure
from tempoc.runtime.host.imports import HostFunction
from tempoc.runtime.host.results import host_result
from tempoc.runtime.report.profile import Trace
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A recorded call, with the name of the function in the source."""

    extern: str
    point: tuple[int, ...]
    args: tuple[HostArray, ...]
    results: tuple[HostArray, ...]


RecordedCalls = dict[str, list[RecordedCall]]
"""The calls into each module, in order."""


@dataclass(slots=True, eq=False)
class HostCallable:
    """A host function with its signature."""

    extern: Extern
    function: HostFunction

    def call(self, args: Sequence[HostArray], values: Mapping[str, int]) -> tuple[HostArray, ...]:
        """The results for arguments that the function may keep; ``values`` are the values of bounds
        and dimensions. Raises `ExternFailure`."""
        shapes = result_shapes(self.extern, [a.shape for a in args], values)
        results = invoke(self.extern, self.function, args)
        pairs = zip(self.extern.results, results, shapes, strict=True)
        return tuple(host_result(self.extern, t, value, shape) for t, value, shape in pairs)


@dataclass(slots=True, eq=False)
class HostCaller:
    """The calls of one statement, counted. ``shapes`` are the shapes of the cells for results.

    ``unwanted``: the results are never read; zeros are returned without a call.
    """

    hosted: HostCallable
    host: prog.Host
    bounds: Mapping[str, int]
    shapes: Sequence[tuple[int, ...]]
    trace: Trace | None = None
    record: RecordedCalls | None = None
    unwanted: bool = False
    count: int = 0
    seconds: float = 0.0

    def __call__(
        self, point: tuple[int, ...], *args: backend.DeviceArray
    ) -> list[backend.DeviceArray]:
        """Call at a point with arrays of the device. Raises `RunError`."""
        if self.unwanted:
            types = zip(self.hosted.extern.results, self.shapes, strict=True)
            return [
                backend.put(np.zeros(cell_shape, NUMPY[t.dtype]), t.dtype)
                for t, cell_shape in types
            ]
        values = {**self.bounds, **dict(zip(self.host.dims, point, strict=True))}
        arrays = [
            np.array(a[tuple(slice(evaluate(e, values)) for e in shape)])
            for a, shape in zip(backend.hosts(args), self.host.shapes, strict=True)
        ]
        recorded_args = () if self.record is None else tuple(a.copy() for a in arrays)
        started = time.perf_counter()
        try:
            results = self.hosted.call(arrays, values)
        except ExternFailure as error:
            raise failure(error, self.host.dims, point, self.host.equations) from error
        self.count += 1
        self.seconds += time.perf_counter() - started
        extern = self.hosted.extern
        if self.trace is not None:
            self.trace.note(f"host {self.host.extern}", list(point), started)
        if self.record is not None:
            recorded = RecordedCall(extern.name, point, recorded_args, results)
            self.record.setdefault(extern.module, []).append(recorded)
        # One kernel takes each, once; passed as they are, they cost a fraction of what `put` does.
        cells = zip(results, extern.results, self.shapes, strict=True)
        return [
            np.asarray(_zero_padded(a, cell_shape), NUMPY[t.dtype]) for a, t, cell_shape in cells
        ]


def totals(callers: Iterable[HostCaller]) -> dict[str, tuple[int, float]]:
    """Calls and seconds of each host function, in the order of the program."""
    result: dict[str, tuple[int, float]] = {}
    for caller in callers:
        count, seconds = result.get(caller.host.extern, (0, 0.0))
        result[caller.host.extern] = (count + caller.count, seconds + caller.seconds)
    return result


def _zero_padded(array: HostArray, cell_shape: tuple[int, ...]) -> HostArray:
    """The array with zeros behind it, where its cell is larger."""
    if array.shape == cell_shape:
        return array
    larger = np.zeros(cell_shape, array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger
