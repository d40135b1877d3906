"""How many steps of a device loop one kernel call runs.

The first calls are short. Then a call takes about `SECONDS`: long enough to make the overhead of a
call negligible, short enough for progress and interrupts. The pace of a region is remembered for
its next execution.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

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
    """The best known number of steps for a call of a region, and when the last call started."""

    steps: int = FIRST
    started: float = 0.0

    def start(self, remaining: int, limit: int) -> int:
        """The number of steps of the next call: at most those remaining, at most the limit."""
        count = min(self.steps, remaining)
        if limit < remaining:
            count = min(count, backend.steps_within(limit))
        self.started = time.perf_counter()
        return count

    def returned(self, count: int, result: DeviceArray) -> None:
        """A call has returned, and more follow: wait for it and adapt to its time."""
        backend.wait(result)
        seconds = max(time.perf_counter() - self.started, 1e-9)
        fitting = int(count * SECONDS / seconds)
        self.steps = backend.whole_steps(max(1, min(fitting, count * MORE)))
