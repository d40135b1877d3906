"""Temporary names beside a target, and locks that tell whether their writers still live.

All that is made beside ``NAME`` is called ``.NAME.tempoc-WHAT``. A writer holds a lock (``flock``)
on what it writes; the system drops the lock when the process ends, however it ends. So what bears
such a name and is not locked is left over, and nobody needs it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

WAIT = 10.0
"""Seconds for which somebody waits who wants to write what another process writes."""
_PAUSE = 0.005
_LONG = 200
_TEMPORARY = re.compile(r"\..*\.tempoc-(lock|new|old|\d+)", re.DOTALL)
_CLAIM = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def temporary_path(target: Path, what: str) -> Path:
    """The path beside a target for its lock, its next contents, or its former ones."""
    name = target.name
    if len(os.fsencode(name)) > _LONG:
        name = sha256(os.fsencode(name)).hexdigest()
    return target.with_name(f".{name}.tempoc-{what}")


def is_temporary(name: str) -> bool:
    """Whether a file name is one of `temporary_path`."""
    return _TEMPORARY.fullmatch(name) is not None


@contextmanager
def exclusive(target: Path, wait: float = WAIT) -> Iterator[None]:
    """Within the block no other process is in one for the same target.

    The lock is a file, which is gone afterwards. Raises ``TimeoutError`` if another process holds
    it for longer than ``wait`` seconds, and ``OSError`` if it cannot be made.
    """
    path = temporary_path(target, "lock")
    handle = _acquired(path, wait)
    try:
        yield
    finally:
        # Removed while it is held: who waits for it looks whether it is still the one at the path.
        with suppress(OSError):
            os.unlink(path)
        os.close(handle)


def _acquired(path: Path, wait: float) -> int:
    end = time.monotonic() + wait
    while True:
        handle = os.open(path, _CLAIM, 0o666)
        try:
            if _try_lock(handle) is not False and is_at(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() > end:
            raise TimeoutError(errno.ETIMEDOUT, "another process is writing there", str(path))
        time.sleep(_PAUSE)


def claim(path: Path, folder: int | None = None) -> int | None:
    """A new empty file, open for writing and locked; ``None`` if a living process writes there.

    What a dead process left there is removed. Its permissions are those of new files. ``folder`` is
    the handle of the one to which the path is relative. Raises ``OSError``.
    """
    while True:
        try:
            handle = os.open(path, _CLAIM | os.O_EXCL, 0o666, dir_fd=folder)
        except FileExistsError:
            if not remove_left_over(path, folder):
                return None
            continue
        try:
            # Not at once where somebody looks whether it is left over; then it is gone.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            if is_at(handle, path, folder):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def remove_left_over(path: Path, folder: int | None) -> bool:
    """Remove a temporary file whose writer is dead; whether there is none any more."""
    try:
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(path, flags, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        if _try_lock(handle) is not True:
            return False
        if is_at(handle, path, folder):
            os.unlink(path, dir_fd=folder)
        return True
    finally:
        os.close(handle)


def is_at(handle: int, path: Path, folder: int | None = None) -> bool:
    """Whether an open file or folder is the one at a path."""
    try:
        there = os.stat(path, dir_fd=folder)
    except FileNotFoundError:
        return False
    here = os.fstat(handle)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _try_lock(handle: int) -> bool | None:
    """Whether the lock was free and is ours now; ``None`` where files cannot be locked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
