"""Timing: programs compared in turns, so that a busy machine is busy for all of them."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table: what was measured, ours and what it is compared with.

    In seconds, or in bytes where the `unit` is "MB", or a number of things where it is empty.
    """

    name: str
    ours: float
    theirs: float | None = None
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        """Below 1 ours wins."""
        return self.ours / self.theirs if self.theirs else None

    def text(self) -> str:
        other = f"{show(self.theirs, self.unit)}  {self.ratio:7.2f}x" if self.theirs else ""
        return f"{self.name:44} {show(self.ours, self.unit)}  {other}".rstrip()


def show(seconds: float, unit: str = "s") -> str:
    """Six significant columns with a unit."""
    if not unit:
        return f"{seconds:9.0f}   "
    if unit == "MB":
        return f"{seconds / 1e6:9.2f} MB"
    for unit, scale in (("s ", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:9.2f} {unit}"
    return f"{seconds / 1e-6:9.2f} us"


def clock(action: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def processor_time(action: Callable[[], object]) -> float:
    """Seconds of processor time that one call takes, those of processes that it starts included."""
    before = os.times()
    action()
    return sum(os.times()[:4]) - sum(before[:4])


def in_turns(
    actions: Sequence[Callable[[], object]],
    rounds: int,
    *,
    warm: bool = False,
    timed: Callable[[Callable[[], object]], float] = clock,
) -> list[list[float]]:
    """Times of each action, `rounds` of them, in turns; after one round more unless `warm`.

    Every other round goes backwards: what ran before, and left caches as it did, is not always the
    same.
    """
    times: list[list[float]] = [[] for _ in actions]
    for action in actions if not warm else ():
        action()
    for k in range(rounds):
        pairs = [*zip(times, actions, strict=True)]
        for taken, action in pairs if k % 2 == 0 else reversed(pairs):
            taken.append(timed(action))
    return times


def side_by_side(
    name: str, ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 5
) -> Row:
    """The median of some runs of each, in turns."""
    mine, other = in_turns([ours, theirs], rounds)
    return Row(name=name, ours=median(mine), theirs=median(other))


def per_step(
    ours: Callable[[int], object], theirs: Callable[[int], object], few: int, many: int, rounds: int
) -> tuple[float, float]:
    """Median seconds for one more step, ours and theirs.

    Start-up, loading and compiling are the same for few and for many steps and cancel out.
    """
    actions = [
        lambda run=run, steps=steps: run(steps) for steps in (few, many) for run in (ours, theirs)
    ]
    ours_few, theirs_few, ours_many, theirs_many = in_turns(actions, rounds)
    slopes = (
        [(b - a) / (many - few) for a, b in zip(low, high, strict=True)]
        for low, high in ((ours_few, ours_many), (theirs_few, theirs_many))
    )
    mine, other = (median(slope) for slope in slopes)
    return mine, other


MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak(command: Sequence[str]) -> float:
    """The most memory that a process has at any time, in bytes.

    Linux counts what a process had before it became another program, so a small one starts it.
    Raises CalledProcessError where the command fails.
    """
    small = [sys.executable, "-c", MEASURE, *command]
    done = subprocess.run(small, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) * 1024


TUNABLES = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=65536:glibc.malloc.trim_threshold=65536"}
"""For a process whose memory is measured: arrays are given back when they are deleted."""


def give_back() -> None:
    """Give the system what compilations have left in the heap, which would be used unseen."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def growth(action: Callable[[], object]) -> int:
    """The bytes that this process has more, at most, while an action runs than just before.

    Linux forgets the most that there was so far when it is asked to.
    """
    give_back()
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    action()
    return _resident("VmHWM") - before


def _resident(name: str) -> int:
    """A line of what Linux says about this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024
