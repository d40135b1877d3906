"""Ends a process that is asked to end while a library computes that hears no signals.

Python calls the handlers of signals between its own instructions. A compilation of XLA is one such
instruction for Python and takes minutes now and then: Ctrl-C and SIGTERM would wait for its end.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130
_PATIENCE = 2.0
"""Seconds for Python to hear a signal and to tidy up itself."""

FOLDERS: dict[str, None] = {}
"""Folders to remove if the process is ended here."""
_heard = threading.Event()


def end_when_asked() -> None:
    """Raise ``KeyboardInterrupt`` for SIGTERM as well; end the process if nothing raises it soon.

    To be called by the main thread of a process that runs nothing else. A signal that is ignored
    stays ignored; who replaces the handler of a signal takes care of it.
    """
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    ends, start = os.pipe()
    os.set_blocking(start, False)
    signal.set_wakeup_fd(start, warn_on_full_buffer=False)
    # Children that are forked share the pipe: their signals are not ours.
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    for number in numbers:
        signal.signal(number, _interrupt)
    threading.Thread(target=_watch, args=(ends,), name="interrupts", daemon=True).start()


def _interrupt(number: int, frame: FrameType | None) -> None:
    _heard.set()
    raise KeyboardInterrupt


def _watch(ends: int) -> None:
    """Wait for signals; each byte is the number of one."""
    while received := os.read(ends, 1):
        if signal.getsignal(received[0]) is _interrupt:
            if not _heard.wait(_PATIENCE):
                _end()
            _heard.clear()


def _end() -> None:
    """End the process as it stands; its main thread executes no Python."""
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    for folder in [*FOLDERS]:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(INTERRUPTED)
