"""The machine: the frame of a run on a device.

Kernel calls are asynchronous. The machine waits for the device only where a value is read on the
host, and evaluates the faults of checks after many calls and at the end.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.checkpoint.suspend import Suspender
from tempoc.runtime.data.bindings import PointIndex
from tempoc.runtime.device import backend
from tempoc.runtime.device.stores import CellArrays
from tempoc.runtime.execution.ended_bounds import EndedBounds
from tempoc.runtime.execution.explain import Fault, explained, failed_check
from tempoc.runtime.execution.specialize import Prepared
from tempoc.runtime.host.effects import Show, perform
from tempoc.runtime.host.host_calls import HostCallable, HostCaller, RecordedCalls
from tempoc.runtime.messages import run as errors
from tempoc.runtime.report.profile import Trace
from tempoc.runtime.walk.code import HostCode, execute
from tempoc.runtime.walk.frame import RunFrame
from tempoc.runtime.walk.region_calls import Pace
from tempoc.symbolic.walk import evaluate


class Machine(RunFrame):
    """A program with bounds and kernels, ready to run once."""

    def __init__(
        self,
        prepared: Prepared,
        code: HostCode,
        given: Mapping[str, CellArrays],
        show: Show,
        hosts: Mapping[str, HostCallable] = MappingProxyType({}),
        *,
        account: bool = False,
        trace: Trace | None = None,
        record: RecordedCalls | None = None,
        suspender: Suspender | None = None,
    ) -> None:
        super().__init__(prepared.storage, prepared.bounds, backend)
        self.code = code
        self.show = show
        self.paces, self.counted = prepared.paces, prepared.counted
        self.longer = prepared.longer
        self.faults: list[Fault] = []
        self.place_zeros(code.zeros)
        self.place(given, account=account)
        self.callers = [
            HostCaller(
                hosts[host.extern],
                host,
                ChainMap[str, Any](self.bounds, self.tables),
                [prepared.layouts[cell.store].shape for cell in host.results],
                trace,
                record,
                unwanted=bool(host.unless) and all(store in given for store in host.unless),
            )
            for host in code.hosts
        ]
        self.dims = {k.name: k.dims for k in self.program.kernels}
        self.position = code.entry
        self.suspender = suspender
        if suspender is not None:
            suspender.attach(self, given, code)

    def run(self) -> list[Any]:
        """Run the code; returns the cells of stores by number, computed. Raises ``RunError``."""
        try:
            execute(self.code, self)
            self.check()
            for output in self.program.outputs:
                number = self.storage.numbers[output.store]
                if number not in self.storage.keyed:
                    if self.cells[number] is None:
                        raise RunError(errors.never_written(output.store, ""))
                    backend.wait(self.cells[number])
        except Exception as error:
            if (explanation := self.explained(error)) is None:
                raise
            raise explanation from error
        finally:
            self.suspender = None  # it refers to this frame, whose arrays would live on
        return self.cells

    def explained(self, error: Exception) -> RunError | None:
        """The error for an exception in the code; ``None`` if the exception has no explanation."""
        if isinstance(error, RunError):
            return None
        return explained(self, self.code.calls.get(self.position), self.known_values(), error)

    # -------------------------------------------------------------- hooks

    def region_steps(self, region: prog.Region, steps: range, steps_left: int | None) -> int:
        """As many as take about a quarter of a second, and for whose rows there is room."""
        kernel = region.kernel
        if kernel not in self.paces:
            self.paces[kernel] = Pace(self.program.tuning, kernel in self.counted)
        pace = self.paces[kernel]
        limit = len(steps) if steps_left is None else steps_left
        return pace.start(len(steps), min(limit, region.most) if region.most else limit)

    def region_returned(
        self, region: prog.Region, steps: range, rest: range, result: Any, ended: bool
    ) -> None:
        """Adapt the pace of the region; the time of a call that ended early is ignored."""
        if rest and not ended:
            self.paces[region.kernel].returned(len(steps), result)

    def call_host(self, number: int, point: PointIndex, args: Sequence[Any]) -> Sequence[Any]:
        """Call the user's function."""
        return self.callers[number](point, *args)

    def perform(self, effect: prog.Effect, point: Any, values: Sequence[Any]) -> None:
        """Print or save the tensors of an effect."""
        at = point if isinstance(point, tuple) else np.asarray(point).tolist()
        values_by_name = self.known_values() | dict(
            zip(self.dims[effect.call.kernel], at, strict=False)
        )
        arrays = [
            value[tuple(slice(evaluate(e, values_by_name)) for e in shown.shape)]
            for value, shown in zip(backend.hosts(values), effect.places, strict=True)
        ]
        perform(effect, values_by_name, arrays, self.show)

    def failed(self, kernel: int, point: Any, fault: Any) -> None:
        """Keep the fault until it is evaluated."""
        self.faults.append((kernel, point, fault))
        if len(self.faults) > self.program.tuning.pending_faults:
            self.check()

    def check(self) -> None:
        """Evaluate all pending checks. Raises ``RunError`` for the first that failed."""
        for fault in self.faults:
            if (problem := failed_check(self, fault)) is not None:
                raise RunError(problem)
        self.faults.clear()

    def length_ended(self, bound: str, outer: PointIndex, length: int) -> None:
        """A bound has ended at a point. Raises ``RunError`` for what it must not be."""
        self.check()
        self.set_length(bound, outer, length)
        ended = EndedBounds(self.program)
        if not outer:
            self.bounds[bound] = length
            self.bounds |= ended.derive(self.bounds)
        ended.check(self.bounds, self.ends, bound, outer)

    def known_values(self) -> dict[str, Any]:
        """The current values of all bounds, and the tables of lengths at points."""
        return self.bounds | self.tables

    def known_lengths(self) -> dict[str, int]:
        """The lengths by bound, of those with one length for all points."""
        several = [n.bound for n in self.program.lengths if n.outer or n.common]
        return {name: self.bounds[name] for name in self.lengths if name not in several}

    def is_due(self) -> bool:
        """Whether a checkpoint is due."""
        return self.suspender is not None and self.suspender.is_due()

    def suspend(self, boundary: int) -> None:
        """Write a checkpoint."""
        assert self.suspender is not None
        self.suspender.suspend(boundary)
