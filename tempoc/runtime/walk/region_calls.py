"""How many steps of a device loop one kernel call runs.

The first calls are short. Then a call takes long enough to make the overhead of a call negligible,
and is short enough for progress and interrupts. The pace of a region is remembered for its next
execution.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.data.bounds import LIMIT
from tempoc.runtime.device import backend
from tempoc.runtime.device.backend import DeviceArray
from tempoc.runtime.messages import run as errors


def steps_within(var: str, steps: range) -> range:
    """The steps of a loop. Raises ``RunError`` if 32 bits do not hold them, as coordinates."""
    if steps and max(abs(steps[0]), abs(steps[-1])) >= LIMIT:
        raise RunError(errors.endless_loop(var, steps[0], steps[-1]))
    return steps


@dataclass(slots=True)
class Pace:
    """The best known number of steps for a call of a region, and when the last call started.

    ``is_counted``: each number of steps may be a compilation (`counted_regions`).
    """

    tuning: RunTuning
    is_counted: bool
    steps: int = field(init=False)
    started: float = 0.0

    def __post_init__(self) -> None:
        self.steps = self.tuning.first_steps

    def start(self, remaining: int, limit: int) -> int:
        """The number of steps of the next call: at most those remaining, at most the limit."""
        count = min(self.steps, remaining)
        if limit < remaining:
            count = min(count, steps_below(limit) if self.is_counted else limit)
        self.started = time.perf_counter()
        return count

    def returned(self, count: int, result: DeviceArray) -> None:
        """A call has returned, and more follow: wait for it and adapt to its time."""
        backend.wait(result)
        seconds = time.perf_counter() - self.started
        most = count * self.tuning.step_factor
        call_seconds = self.tuning.call_ms / 1e3
        is_short = seconds * most <= call_seconds * count
        fitting = most if is_short else int(count * call_seconds / seconds)
        self.steps = steps_near(fitting) if self.is_counted else max(1, fitting)


def steps_near(count: int) -> int:
    """A number of steps that is worth a compilation: a power of 4."""
    return 4 ** (max(1, count).bit_length() // 2)  # type: ignore[no-any-return]


def steps_below(count: int) -> int:
    """The largest of these numbers that is at most ``count``."""
    return 4 ** ((count.bit_length() - 1) // 2)  # type: ignore[no-any-return]
