"""In how many calls a region runs its loop.

The first calls are short. Then a call takes a good part of a second: long enough that calling costs
nothing, short enough that progress shows and that an interrupt is heard. What was found out about a
region is kept: it begins at its pace the next time.
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
"""Steps of the first call, of whose time nothing is known."""
MORE = 64
"""How many times as many steps as the last call the next one may have at most."""
SECONDS = 0.25
"""How long a call should take."""


@dataclass(slots=True)
class Pace:
    """How many steps of a region a call should have, as far as is known."""

    steps: int = FIRST


class RegionCalls:
    """The calls of one execution of a region: for each its ``at``, and what to do afterwards.

    ``report`` is told the number of steps done. ``left`` says how many steps may follow each other
    from one on, before stores must grow. ``pace`` is that of the region, and is kept up to date.
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
        """A call has returned; if more are to come, wait for it, to see how long it took.

        Of one that was cut ``short``, that tells nothing.
        """
        self.report(self.count)
        self.remaining = self.remaining[self.count :]
        if self.remaining and not short:
            backend.wait(result)
            seconds = max(time.perf_counter() - self.started, 1e-9)
            fitting = int(self.count * SECONDS / seconds)
            self.pace.steps = backend.whole_steps(max(1, min(fitting, self.count * MORE)))
