"""Splits the loop of a region into kernel calls of suitable length.

The first calls are short. Then a call takes about `SECONDS`: long enough to make the overhead of a
call negligible, short enough for progress and interrupts. The pace of a region is remembered for
its next execution.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.device import backend
from tempoc.runtime.device.backend import DeviceArray

FIRST = 64
"""Steps of the first call, whose time is unknown."""
MORE = 64
"""The most by which the number of steps may grow from call to call."""
SECONDS = 0.25
"""How long a call should take."""


@dataclass(slots=True)
class Pace:
    """The best known number of steps for a call of a region."""

    steps: int = FIRST


class RegionCalls:
    """The calls of one execution of a region: iterates over ``at`` and a completion callback.

    ``report`` is called with the number of steps done. ``limit`` gives for a step how many may run
    in one call before stores must grow. ``pace`` is that of the region, and is updated.
    """

    def __init__(
        self,
        steps: range,
        outer: tuple[int, ...],
        report: Callable[[int], None],
        limit: Callable[[int], int] | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.remaining = steps
        self.outer = outer
        self.report = report
        self.step_limit = limit
        self.pace = pace or Pace()
        self.count = 0
        self.started = 0.0

    def __iter__(self) -> Iterator[tuple[HostArray, Callable[..., None]]]:
        while self.remaining:
            self.count = min(self.pace.steps, len(self.remaining))
            if self.step_limit is not None:
                self.count = min(
                    self.count, backend.steps_within(self.step_limit(self.remaining[0]))
                )
            self.started = time.perf_counter()
            yield np.array((self.remaining[0], self.count, *self.outer), np.int32), self.completed

    def completed(self, result: DeviceArray, short: bool = False) -> None:
        """A call has returned; if more follow, wait for it and adapt the pace to its time.

        The time of a call that ended early (``short``) is ignored.
        """
        self.report(self.count)
        self.remaining = self.remaining[self.count :]
        if self.remaining and not short:
            backend.wait(result)
            seconds = max(time.perf_counter() - self.started, 1e-9)
            fitting = int(self.count * SECONDS / seconds)
            self.pace.steps = backend.whole_steps(max(1, min(fitting, self.count * MORE)))
