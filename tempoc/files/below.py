"""Writes files that stay below a folder, whatever their names are and whatever is in the folder.

Each folder on the way is opened in the one before, and no link is followed, so that nobody can move
the target away between a check and the writing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tempoc.files.durable import replace_file

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FileIdentity = tuple[int, int]
"""Which file it is, whatever its name: the numbers of its device and of itself."""


def is_below(path: str) -> bool:
    """Whether a relative path, as it stands, names something below the folder that it starts in."""
    parts = path.split("/")
    return "\0" not in path and all(part not in ("", ".", "..") for part in parts)


def replace_below(root: Path, path: str, write: Callable[[BinaryIO], object]) -> FileIdentity:
    """Replace a file below a folder that exists, durably, as `replace_file` does.

    Folders on the way are made. Raises ``OSError``: also for a path that leaves the folder, a link
    on the way, and a target that is neither a file nor a link, which is replaced.
    """
    if not is_below(path):
        raise PermissionError(errno.EPERM, "it is outside of the output directory", path)
    *parents, name = path.split("/")
    with _folder(root, parents) as folder:
        if (there := identity(folder, name)) is not None and not there[1]:
            raise OSError(errno.EINVAL, "something else than a file is there", path)
        replace_file(name, write, folder=folder)
        made = identity(folder, name)
    return made[0] if made else (0, 0)


def existing_below(root: Path, path: str) -> FileIdentity | None:
    """Which file a name below a folder stands for, if there is one."""
    try:
        there = os.lstat(root / path)
    except (OSError, ValueError):
        return None
    return there.st_dev, there.st_ino


def identity(folder: int, name: str) -> tuple[FileIdentity, bool] | None:
    """What a name in an open folder stands for, and whether that is a file or a link."""
    try:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    plain = stat.S_ISREG(there.st_mode) or stat.S_ISLNK(there.st_mode)
    return (there.st_dev, there.st_ino), plain


@contextmanager
def _folder(root: Path, parents: list[str]) -> Iterator[int]:
    """The handle of a folder below another one, made if it is missing."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in parents:
            inner = _entered(handle, name)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _entered(folder: int, name: str) -> int:
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        pass
    else:
        os.fsync(folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(there.st_mode):
            raise OSError(errno.ELOOP, f"the folder {name} is a link", name) from None
        raise error
