"""A progress bar on standard error for runs that take longer than a second on a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.nodes.nodes import Program
from tempoc.runtime.report.streams import write_notice

_DELAY, _INTERVAL, _WIDTH = 1.0, 0.2, 30


@contextmanager
def progress_bar(program: Program, bounds: Mapping[str, int], done: list[int]) -> Iterator[None]:
    """Draw how many of all kernel calls are done while the block runs; erase it afterwards."""
    stop = threading.Event()
    thread = threading.Thread(target=_draw, args=(program, bounds, done, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _draw(
    program: Program, bounds: Mapping[str, int], done: list[int], stop: threading.Event
) -> None:
    start = time.monotonic()
    if stop.wait(_DELAY):
        return
    total = max(1, count_calls(program.tree, dict(bounds)))
    while not stop.wait(_INTERVAL):
        write_notice("\r" + bar(done[0], total, time.monotonic() - start))
    write_notice("\r\x1b[K")


def bar(done: int, total: int, seconds: float) -> str:
    """One line: a bar, how much is done, how long it will take."""
    part = min(done / total, 1.0)
    filled = int(part * _WIDTH)
    remaining = f"{seconds / part - seconds:.0f} s left" if part > 0.01 else ""
    return (
        f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {part:4.0%}  {seconds:.0f} s  {remaining:<14}"
    )
