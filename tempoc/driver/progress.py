"""What a compilation or a search is doing, and how much is left: data for somebody who waits.

Of a single compilation the phases and passes are known, but not how long they take: it has no
remaining time. A search knows how many candidates it may still try, and how long the others took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

PHASES = ("elaborate", "passes", "statements", "schedule", "memory", "codegen", "write")
"""The phases of a compilation in order; verifiers run between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What is going on.

    ``phase``: its name; ``number``: its place among `PHASES`, from 1. ``detail``: the pass that
    runs. ``tried``: the candidates of a search that are done; ``most_left``: at most so many are
    left, the current one included; ``seconds_left``: for all of these, if each takes the median of
    those before. `None`: not known.
    """

    phase: str = ""
    number: int = 0
    detail: str = ""
    tried: int = 0
    most_left: int | None = None
    seconds_left: float | None = None


class Progress:
    """Collects what happens in a compilation and its variants; ``show`` gets every change."""

    def __init__(
        self,
        show: Callable[[Activity], None] = lambda activity: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is shown before something happens."""
        self.show = show
        self.clock = clock
        self.activity = Activity()
        self._seconds: list[float] = []
        self._began = clock()
        self._is_repeated = False

    def phase(self, name: str, detail: str = "") -> None:
        """A phase begins, or a part of it."""
        number = PHASES.index(name) + 1 if name in PHASES else self.activity.number
        self._change(replace(self.activity, phase=name, number=number, detail=detail))

    @contextmanager
    def searches(self) -> Iterator[None]:
        """A block of several searches, of which nobody knows how many: no times are estimated."""
        before, self._is_repeated = self._is_repeated, True
        try:
            yield
        finally:
            self._is_repeated = before

    def search(self) -> None:
        """A search begins."""
        self._seconds, self._began = [], self.clock()
        self._change(replace(self.activity, tried=0, most_left=None, seconds_left=None))

    def expect(self, most_left: int) -> None:
        """At most so many candidates are left to try."""
        self._change(replace(self.activity, most_left=most_left))

    def tried(self, count: int = 1) -> None:
        """Candidates were tried, since the last one or since the search began."""
        now = self.clock()
        self._seconds += [(now - self._began) / count] * count
        self._began = now
        left = self.activity.most_left
        self._change(
            replace(
                self.activity,
                tried=self.activity.tried + count,
                most_left=None if left is None else max(0, left - count),
            )
        )

    def _change(self, activity: Activity) -> None:
        left = activity.most_left
        seconds = None
        if left is not None and self._seconds and not self._is_repeated:
            seconds = left * sorted(self._seconds)[len(self._seconds) // 2]
        self.activity = replace(activity, seconds_left=seconds)
        self.show(self.activity)
