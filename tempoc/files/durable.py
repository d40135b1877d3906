"""Replaces files durably: afterwards the old or the new one is there whole, after a crash as well.

A file is written beside its target and synced, renamed, and the folder is synced; see Pillai et
al., "All File Systems Are Not Created Equal" (OSDI 2014), for what goes wrong otherwise.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tempoc.files.locks import claim, remove_left_over, temporary_path

SLOTS = 8
"""So many processes can write the same file at a time; the last one wins."""


def replace_file(
    path: str | Path,
    write: Callable[[BinaryIO], object],
    *,
    mode: int | None = None,
    folder: int | None = None,
    durable: bool = True,
) -> None:
    """Replace a file by what ``write`` writes; if ``durable``, it is on the disk when this returns.

    The new file has the permissions of new files, or ``mode``. A link is replaced; pipes and
    devices are written to. What processes that were killed have left beside the target is removed.
    With the handle of a ``folder`` the path is a name in it. Raises ``OSError``, and what ``write``
    raises; then the file is as it was, unless only the folder could not be synced.
    """
    path = Path(path)
    if folder is None and _is_stream(path):
        with path.open("wb") as stream:
            write(stream)
        return
    handle, temporary = _claimed(path, folder)
    with os.fdopen(handle, "wb") as file:
        try:
            write(file)
            file.flush()
            if mode is not None:
                os.fchmod(handle, mode)
            if durable:
                os.fsync(handle)
            os.replace(temporary, path, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            # While the lock is held, so that it cannot be the file of somebody else.
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
    if durable and folder is None:
        sync_folder(path.parent)
    elif durable and folder is not None:
        _sync(folder)
    for left_over in _temporaries(path):
        with suppress(OSError):
            remove_left_over(left_over, folder)


def replace_text(path: str | Path, text: str) -> None:
    """Replace a file by a text in UTF-8, as `replace_file` does."""
    content = text.encode()
    replace_file(path, lambda file: file.write(content))


def probe(folder: Path) -> None:
    """Raise ``OSError`` if no file can be made in a folder."""
    handle, temporary = _claimed(folder / "probe")
    try:
        os.unlink(temporary)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder and those that it is in, durably. Raises ``OSError``."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable. Raises ``OSError``."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync(handle)
    finally:
        os.close(handle)


def _sync(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        # Some file systems have no such thing.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise


def _is_stream(path: Path) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _claimed(path: Path, folder: int | None = None) -> tuple[int, Path]:
    for temporary in _temporaries(path):
        handle = claim(temporary, folder)
        if handle is not None:
            return handle, temporary
    raise BlockingIOError(errno.EBUSY, "too many processes write it", str(path))


def _temporaries(path: Path) -> list[Path]:
    return [temporary_path(path, str(slot)) for slot in range(SLOTS)]
