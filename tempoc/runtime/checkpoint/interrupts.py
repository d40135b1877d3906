"""Ctrl-C in a run with checkpoints: write a checkpoint, then end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tempoc.runtime.checkpoint.suspend import CheckpointOptions, RunSuspended

_NOTICE = b"\ninterrupted: a checkpoint is written after this step (again: end at once)\n"


@contextmanager
def suspend_on_interrupt(keep: CheckpointOptions | None) -> Iterator[None]:
    """The first Ctrl-C suspends the run at the next suspend point, the second ends it at once."""
    if keep is None or keep.directory is None:
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def heard(number: int, frame: FrameType | None) -> None:
        if keep.stop.is_set():
            raise KeyboardInterrupt
        keep.stop.set()
        # Not through sys.stderr, which may be in the middle of a line.
        os.write(2, _NOTICE)

    previous = signal.signal(signal.SIGINT, heard)
    try:
        yield
    except RunSuspended:
        sys.stderr.write(f"the run is held: --resume {keep.directory} goes on with it\n")
        raise
    finally:
        signal.signal(signal.SIGINT, previous)
