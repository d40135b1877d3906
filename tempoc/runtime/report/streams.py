"""Standard streams that are closed, full, or cannot say what we want to say."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


def prepare_streams() -> None:
    """Give closed streams somewhere to go, and let all of them speak UTF-8, as programs do."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Or else the next file that is opened would be written to by whoever prints something.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that wants colours (`NO_COLOR`, `TERM=dumb` are respected)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def _nowhere() -> TextIO:
    return io.TextIOWrapper(io.FileIO(os.devnull, "w"))


@contextmanager
def streams_kept() -> Iterator[None]:
    """Afterwards the standard streams are those of before, whatever Python functions put there."""
    streams = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        if sys.stderr.closed:
            sys.stderr = _nowhere()


def write_output(text: str) -> None:
    """Write to standard output. Raises ``OSError``, also if a Python function closed it."""
    if sys.stdout.closed:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
    sys.stdout.write(text)
    sys.stdout.flush()


def write_notice(text: str) -> None:
    """Write to standard error, unless a Python function took it away."""
    stream = sys.stderr if sys.stderr is not None else sys.__stderr__
    if stream is not None and not stream.closed:
        stream.write(text)
        stream.flush()


def abandon_output() -> None:
    """Nobody takes our output any more: drop what is still buffered instead of failing again."""
    try:
        target = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, target)
    os.close(null)
