"""Reads files of users: regular ones only, so nobody waits for a pipe or reads a device forever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def open_file(path: str | Path) -> BinaryIO:
    """Open a regular file.

    Raises ``OSError``, also if the path names a folder, a pipe or a device.
    """
    try:
        handle = os.open(path, _FLAGS)
    except ValueError:
        raise OSError(errno.EINVAL, "its name has a NUL character", str(path)) from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            what = "directory" if stat.S_ISDIR(mode) else "pipe or a device"
            raise OSError(errno.EINVAL, f"it is a {what}, not a file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_file(path: str | Path, most: int) -> bytes:
    """The bytes of a regular file. Raises ``OSError``, also if there are more than ``most``."""
    with open_file(path) as file:
        return read_stream(file, most, str(path))


def read_stream(stream: BinaryIO, most: int, name: str) -> bytes:
    """All bytes of a stream. Raises ``OSError``, also if there are more than ``most``."""
    content = stream.read(most + 1) or b""
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", name)
    return content
