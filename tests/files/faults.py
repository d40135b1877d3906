"""Faults at the n-th operation on files: it fails, or the process dies there.

Operations are those that change something: what is opened, written, synced, renamed, removed.
"""

from __future__ import annotations

import builtins
import errno
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tempoc.files import exchange

NAMES = ("open", "fsync", "rename", "replace", "unlink", "mkdir", "rmdir", "fchmod", "pwrite")
DIED = 77
"""The exit status of a process that died at an operation."""
Tree = dict[str, bytes]


class Faults:
    """Counts operations; the one with the number ``at`` fails, or ends the process."""

    def __init__(self, at: int, *, dies: bool, at_once: bool = True) -> None:
        self.at, self.dies, self.at_once = at, dies, at_once
        self.count = 0
        self.counting = threading.Lock()

    def point(self, before: Callable[[], object] = lambda: None) -> None:
        """An operation is about to begin; ``before`` is what it does of it if that is the end."""
        with self.counting:  # files are written by several threads
            self.count += 1
            number = self.count
        if number != self.at:
            return
        before()
        if self.dies:
            os._exit(DIED)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def install(self, put: Callable[[Any, str, object], None] = setattr) -> None:
        """Put the faults into `os`, by ``put``."""
        for name in NAMES:
            put(os, name, self.wrapped(getattr(os, name)))
        fdopen = os.fdopen
        put(os, "fdopen", lambda *args, **named: FaultyFile(fdopen(*args, **named), self))
        once = self.wrapped(exchange.exchange_at_once)
        put(exchange, "exchange_at_once", once if self.at_once else lambda *_: False)

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as an operation."""

        def operation(*args: Any, **named: Any) -> Any:
            self.point()
            return function(*args, **named)

        return operation


class FaultyFile:
    """A file whose writes are operations: one that ends early wrote the first half."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self.file, self.faults = file, faults

    def write(self, content: Any) -> int:
        """Write."""
        half = bytes(content)[: len(content) // 2]
        self.faults.point(lambda: (self.file.write(half), self.file.flush()))
        return int(self.file.write(content))

    def flush(self) -> None:
        """Flush."""
        self.faults.point()
        self.file.flush()

    def __enter__(self) -> FaultyFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def in_child(action: Callable[[], int], report: Path) -> int:
    """The exit status of an action in a process of its own, whose standard error is a file."""
    sys.stderr.flush()
    child = os.fork()
    if not child:
        status = 70
        with suppress(BaseException):
            with builtins.open(report, "w") as file:
                os.dup2(file.fileno(), 2)
            try:
                status = action()
            except BaseException:
                traceback.print_exc()
            sys.stderr.flush()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def tree(folder: Path) -> Tree:
    """All files below a folder, by relative path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def rubbish(folder: Path) -> list[str]:
    """What is left of temporary files."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob(".*"))
