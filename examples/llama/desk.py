"""The desk between clients and the running program: whose words the slots of `serve.rt` take.

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
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import NamedTuple

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
class Text:
    """A request under way. `number`: of this text among all; `place`: of its next token.

    `ahead`: the tokens from `place` on that are known: what is left of the prompt, or one word.
    """

    request: Request
    number: int
    place: int = 0
    ahead: deque[int] = field(init=False)
    count: int = 0
    draws: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.ahead = deque(self.request.prompt)
        self.draws = np.random.default_rng(self.request.seed)

    def goes_on(self, word: int) -> bool:
        """Take the word after the last token that was read; false when the text has ended."""
        request = self.request
        if request.cancelled:
            return False
        if self.ahead:
            return True
        if word in request.ends:
            request.arrivals.put(Arrival(request, reason="stop"))
            return False
        request.arrivals.put(Arrival(request, word))
        self.ahead.append(word)
        self.count += 1
        if self.count == request.limit:
            request.arrivals.put(Arrival(request, reason="length"))
        return self.count < request.limit

    def read(self) -> Reading:
        """The next token and its place; after the last one that is known a word is chosen."""
        place, token = self.place, self.ahead.popleft()
        self.place += 1
        heat = 0.0 if self.ahead else self.request.heat
        draw = self.draws.random() if heat > 0 else 0.0
        return Reading(token, self.number, place, heat, self.request.nucleus, draw)


class Reading(NamedTuple):
    """What a slot takes in a step; that of an empty one belongs to no text."""

    token: int = 0
    text: int = -1
    place: int = 0
    heat: float = 0.0
    nucleus: float = 0.0
    draw: float = 0.0


class Desk:
    """Requests that wait, and texts under way: at most as many as there are slots."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Request] = deque()
        self._texts: list[Text] = []
        self._readers: list[Text] = []  # in the step under way, by slot: those that are not empty
        self._begun = 0
        self._closed = False
        self._room = self._size = 0

    def open(self) -> None:
        """Take requests, also before a program runs."""
        with self._changed:
            self._texts, self._readers, self._closed = [], [], False
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
            for request in [*self._waiting, *(text.request for text in self._texts)]:
                request.arrivals.put(Arrival(request, reason="closed"))
            self._waiting.clear()
            self._texts.clear()
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
        """How many texts are under way."""
        with self._changed:
            return len(self._texts)

    def exchange(
        self, words: Ints, room: Ints, size: Ints
    ) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats, bool]:
        """Hand out the words of a step and give the tokens of the next, one for each slot.

        `room` is the longest text in tokens, `size` the number of tokens that there are. Waits
        while there is nothing to do. Results: tokens, the numbers of their texts, their places in
        them, heats, nuclei, numbers to draw with, and whether the step is the last.
        """
        with self._changed:
            if not self._room:
                self._room, self._size = int(room), int(size)
                self._changed.notify_all()
            last = {text: int(word) for text, word in zip(self._readers, words, strict=False)}
            self._texts = [text for text in self._texts if text.goes_on(last[text])]
            self._seat(len(words))
            while not (self._closed or self._texts):
                self._changed.wait(PATIENCE)
                self._seat(len(words))
            self._readers = [] if self._closed else _slots(self._texts, len(words))
            return _as_arrays([text.read() for text in self._readers], len(words), self._closed)

    def _seat(self, slots: int) -> None:
        """Begin the texts of those who have waited longest, as long as slots are free."""
        while self._waiting and len(self._texts) < slots:
            if not (request := self._waiting.popleft()).cancelled:
                self._texts.append(Text(request, self._begun))
                self._begun += 1


def _slots(texts: list[Text], count: int) -> list[Text]:
    """The texts by slot: each has one, and who came first has the free ones for its prompt."""
    free = count - len(texts)
    slots: list[Text] = []
    for text in texts:
        more = min(free, len(text.ahead) - 1)
        slots += [text] * (1 + more)
        free -= more
    return slots


def _as_arrays(
    readings: list[Reading], slots: int, closed: bool
) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats, bool]:
    """What the program gets."""
    columns = [*zip(*readings, *[Reading()] * (slots - len(readings)), strict=True)]
    tokens, texts, places = (np.array(column, np.int32) for column in columns[:3])
    heats, nuclei, draws = (np.array(column, np.float32) for column in columns[3:])
    return tokens, texts, places, heats, nuclei, draws, closed


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
