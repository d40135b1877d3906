"""The desk between clients and the running program: who holds which slot of `serve.rt`.

Clients `submit` requests from any thread. The program calls `exchange` once at each step: it gives
the words that it has chosen and takes the next token of each slot.
"""

from __future__ import annotations

import runpy
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import FrameType

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
STEPS = 1 << 30  # of the program's loop: a year and more
# Seconds between two looks at a pending Ctrl-C: one that comes just before a wait does not end it.
PATIENCE = 0.5


@dataclass(frozen=True, slots=True)
class Arrival:
    """A token for a request, or why there are no more: `stop`, `length` or `closed`."""

    request: Request
    token: int = -1
    reason: str = ""


Arrivals = SimpleQueue[Arrival]


@dataclass(slots=True, eq=False)
class Request:
    """A prompt of at least one token, and how to go on with it for at most `limit` tokens.

    `heat` 0 chooses what is most likely; otherwise words are drawn with the numbers of `seed`, one
    for each word, so that a request draws the same in whatever company.
    """

    prompt: list[int]
    limit: int
    arrivals: Arrivals
    heat: float = 0.0
    nucleus: float = 1.0
    seed: int = 0
    ends: frozenset[int] = frozenset()
    cancelled: bool = False


@dataclass(slots=True, eq=False)
class Slot:
    """A request under way: `place` of the token that the program has got last, in its text."""

    request: Request
    token: int = 0
    place: int = -1
    count: int = 0
    draws: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.draws = np.random.default_rng(self.request.seed)

    def takes(self, word: int) -> bool:
        """Go on with the prompt, or with the chosen word; false when the text has ended."""
        request = self.request
        if request.cancelled:
            return False
        self.place += 1
        if self.place < len(request.prompt):
            self.token = request.prompt[self.place]
            return True
        if word in request.ends:
            request.arrivals.put(Arrival(request, reason="stop"))
            return False
        request.arrivals.put(Arrival(request, word))
        self.token, self.count = word, self.count + 1
        if self.count == request.limit:
            request.arrivals.put(Arrival(request, reason="length"))
        return self.count < request.limit

    def draw(self) -> float:
        """A number for the word that follows the token, if it is drawn."""
        chosen = self.place >= len(self.request.prompt) - 1 and self.request.heat > 0
        return self.draws.random() if chosen else 0.0


class Desk:
    """Requests that wait, and those that hold a slot."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Request] = deque()
        self._slots: list[Slot | None] = []
        self._closed = False
        self._room = self._size = 0

    def open(self) -> None:
        """Take requests, also before a program runs."""
        with self._changed:
            self._slots, self._closed = [], False
            self._room = self._size = 0

    def limits(self) -> tuple[int, int] | None:
        """How many tokens a text may have, and how many tokens there are, once the program runs.

        `None` if it will not.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._room or self._closed)
            return None if self._closed else (self._room, self._size)

    @property
    def has_begun(self) -> bool:
        """Whether the program has come to its first step."""
        return self._room > 0

    def close(self) -> None:
        """Let the program end with its next step; tells all requests, now and later."""
        with self._changed:
            self._closed = True
            for request in [*self._waiting, *(slot.request for slot in self._slots if slot)]:
                request.arrivals.put(Arrival(request, reason="closed"))
            self._waiting.clear()
            self._slots = []
            self._changed.notify_all()

    def submit(self, request: Request) -> None:
        """Queue a request: what becomes of it is put into its `arrivals`."""
        with self._changed:
            if self._closed:
                request.arrivals.put(Arrival(request, reason="closed"))
                return
            self._waiting.append(request)
            self._changed.notify_all()

    def busy(self) -> int:
        """How many requests hold a slot."""
        with self._changed:
            return sum(slot is not None for slot in self._slots)

    def exchange(
        self, words: Ints, room: Ints, size: Ints
    ) -> tuple[Ints, Ints, Floats, Floats, Floats, bool]:
        """Hand out the words of a step and give the tokens of the next, one for each slot.

        `room` is the longest text in tokens, `size` the number of tokens that there are. Waits
        while there is nothing to do. Results: tokens, their places in their texts, heats, nuclei,
        numbers to draw with, and whether the step is the last.
        """
        with self._changed:
            if not self._slots:
                self._slots = [None] * len(words)
                self._room, self._size = int(room), int(size)
                self._changed.notify_all()
            self._slots = [
                slot if slot and slot.takes(int(word)) else None
                for slot, word in zip(self._slots, words, strict=True)
            ]
            self._seat()
            while not (self._closed or any(self._slots)):
                self._changed.wait(PATIENCE)
                self._seat()
            return _as_arrays([None] * len(words) if self._closed else self._slots, self._closed)

    def _seat(self) -> None:
        """Give free slots to those who have waited longest."""
        for k, slot in enumerate(self._slots):
            if slot is None and (request := next(self._present(), None)):
                self._slots[k] = seated = Slot(request)
                seated.takes(0)

    def _present(self) -> Iterator[Request]:
        """Take those from the queue who have not gone away."""
        while self._waiting:
            if not (request := self._waiting.popleft()).cancelled:
                yield request


def _as_arrays(
    slots: list[Slot | None], closed: bool
) -> tuple[Ints, Ints, Floats, Floats, Floats, bool]:
    """What the program gets; an empty slot has token 0 at place 0."""
    tokens, places = np.zeros((2, len(slots)), np.int32)
    heats, nuclei, draws = np.zeros((3, len(slots)), np.float32)
    for k, slot in enumerate(slots):
        if slot is not None:
            tokens[k], places[k], draws[k] = slot.token, slot.place, slot.draw()
            heats[k], nuclei[k] = slot.request.heat, slot.request.nucleus
    return tokens, places, heats, nuclei, draws, closed


DESK = Desk()
"""The desk of this process."""

exchange = DESK.exchange


def run_program(folder: Path, weights: Path, slots: int, cast: bool = False) -> int:
    """Run compiled `serve.rt` in this process until the desk is closed; returns the exit status.

    Needs only jax and numpy, as `python FOLDER` does. Ctrl-C closes the desk. `cast` rounds weights
    to the dtype of the program.
    """

    def interrupted(number: int, frame: FrameType | None) -> None:
        if not DESK.has_begun:
            raise KeyboardInterrupt
        # The step under way is finished; the handler itself must not wait for the desk.
        threading.Thread(target=DESK.close).start()

    before = signal.signal(signal.SIGINT, interrupted)
    here = str(Path(__file__).resolve().parent)
    with tempfile.TemporaryDirectory() as nothing:
        sys.argv = [str(folder), "--bounds", f"T={STEPS},B={slots}", "--params", str(weights)]
        sys.argv += ["--extern-path", here, "--output-dir", nothing, *["--cast-params"] * cast]
        try:
            runpy.run_path(str(folder), run_name="__main__")
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else 1
        finally:
            DESK.close()
            signal.signal(signal.SIGINT, before)
    return 0
