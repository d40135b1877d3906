"""Replaces folders: the new one appears complete, and until then the old one is there."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tempoc.files.durable import make_folder, sync_folder
from tempoc.files.locks import exclusive, temporary_path
from tempoc.files.parallel import for_each, remove_folder
from tempoc.files.snapshot import put_back

_HERE = -100
_EXCHANGE = 2
_UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)


def replace_folder(
    target: Path, files: Mapping[str, bytes], check: Callable[[Path], None], *, durable: bool = True
) -> None:
    """Replace a folder by one with these files, by their relative paths; or make it.

    Where the system can (Linux, macOS), both are exchanged at once; elsewhere there is none for a
    moment, and if the process dies then, `put_back` restores the old one. ``check`` gets the old
    folder before anything is written, and again after the exchange; it raises an exception if the
    folder must not be removed, which is then put back. Folders and files are synced if ``durable``.

    What other processes left behind is removed. Raises ``OSError``; ``TimeoutError`` if another
    process writes the same folder.
    """
    make_folder(target.parent)
    with exclusive(target):
        put_back(target, held=True)
        check(target)
        fresh, old = temporary_path(target, "new"), temporary_path(target, "old")
        remove_folder(fresh)
        remove_folder(old)
        try:
            write_files(fresh, files, durable=durable)
            if not os.path.lexists(target):
                os.rename(fresh, target)
            else:
                _exchange(fresh, target, old)
                try:
                    check(fresh)
                except BaseException:
                    _exchange(fresh, target, old)
                    raise
            if durable:
                sync_folder(target.parent)
        finally:
            put_back(target, held=True)
            remove_folder(fresh)


def write_files(folder: Path, files: Mapping[str, bytes], *, durable: bool = True) -> None:
    """Make a folder with files. Raises ``OSError``."""
    os.mkdir(folder)
    parents = {parent: None for name in files for parent in [*Path(name).parents][::-1]}
    for parent in [*parents][1:]:
        os.makedirs(folder / parent, exist_ok=True)

    def write(item: tuple[str, bytes]) -> None:
        name, content = item
        handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(handle)

    for_each(files.items(), write)
    if durable:
        for_each([folder / parent for parent in parents], sync_folder)


def _exchange(first: Path, second: Path, aside: Path) -> None:
    """Exchange two folders. Raises ``OSError``; then they are where they were."""
    if exchange_at_once(first, second):
        return
    os.rename(second, aside)
    try:
        os.rename(first, second)
    except BaseException:
        os.rename(aside, second)
        raise
    os.rename(aside, first)


def exchange_at_once(first: Path, second: Path) -> bool:
    """Exchange two names in one step; ``False`` where the system cannot. Raises ``OSError``."""
    libc, paths = ctypes.CDLL(None, use_errno=True), (os.fsencode(first), os.fsencode(second))
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(*paths, _EXCHANGE)
        else:
            failed = libc.renameat2(_HERE, paths[0], _HERE, paths[1], _EXCHANGE)
    except AttributeError:
        return False
    if not failed:
        return True
    reason = ctypes.get_errno()
    if reason in _UNKNOWN:
        return False
    raise OSError(reason, os.strerror(reason), str(second))
