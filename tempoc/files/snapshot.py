"""Reads several files of a folder as they belong together, even while the folder is exchanged."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tempoc.files.locks import exclusive, is_at, temporary_path

R = TypeVar("R")
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""A pipe that nobody writes to is opened, not waited for."""
TRIES = 20
"""So often a folder is read that is exchanged each time before it is read to its end."""


class OpenFolder:
    """A folder that stays the same one, whatever its path comes to name."""

    def __init__(self, path: Path) -> None:
        """Open a folder. Raises ``OSError``."""
        self.path = path
        self.handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.known: dict[str, bytes | None] = {}

    def read(self, name: str) -> bytes | None:
        """The bytes of a file below the folder; ``None`` if there is none. Raises ``OSError``.

        A file is read once: another call for it gives the same bytes.
        """
        if name not in self.known:
            self.known[name] = self._read(name)
        return self.known[name]

    def _read(self, name: str) -> bytes | None:
        try:
            handle = os.open(name, _FILE, dir_fd=self.handle)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, f"{name} is no file", str(self.path / name))
            return file.read()

    def is_outdated(self) -> bool:
        """Whether the path names another folder by now, or one of the files read is another."""
        if not is_at(self.handle, self.path):
            return True
        try:
            return any(self._read(name) != content for name, content in self.known.items())
        except OSError:
            return False

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        os.close(self.handle)


def read_folder(path: str | Path, read: Callable[[OpenFolder], R]) -> R:
    """What ``read`` makes of a folder.

    If that fails and the folder was replaced meanwhile, ``read`` gets the new one. Raises
    ``OSError`` if there is no such folder, and what ``read`` raises.
    """
    path = Path(path)
    for tries in range(TRIES):
        try:
            folder = OpenFolder(path)
        except FileNotFoundError:
            if tries + 1 == TRIES or not put_back(Path(os.path.realpath(path))):
                raise
            continue
        with folder:
            try:
                return read(folder)
            except Exception:
                if tries + 1 == TRIES or not folder.is_outdated():
                    raise
    raise AssertionError("every way out of the last try raises or returns")


def put_back(target: Path, *, held: bool = False) -> bool:
    """Put a folder back that a process did not come to replace; whether there is one at the path.

    ``held``: the caller holds the lock of the target. Raises nothing: who may not change anything
    finds no folder.
    """
    old = temporary_path(target, "old") if target.name else target
    with suppress(OSError):
        if not target.exists() and old.exists():
            if held:
                os.rename(old, target)
            else:
                # The one who moved it away may be about to replace it.
                with exclusive(target):
                    put_back(target, held=True)
    return os.path.lexists(target)


def digest(content: bytes) -> str:
    """The SHA-256 of bytes, in hexadecimal digits."""
    return sha256(content).hexdigest()
