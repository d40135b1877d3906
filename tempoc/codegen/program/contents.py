"""What the directory of a compiled program holds, compared with what was written there.

``program.json`` lists all other files with their digests. Beside these belong to it: bytecode that
Python keeps, and what tuning records. Everything else is the user's, and so is a file that was
changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath

from tempoc.files.locks import is_temporary
from tempoc.files.snapshot import digest
from tempoc.program.codec import load, load_choices
from tempoc.program.nodes.errors import ProgramError
from tempoc.program.nodes.nodes import VERSION
from tempoc.program.nodes.variants import FILE, FOLDER

PROGRAM, KERNELS, MAIN = "program.json", "kernels.py", "__main__.py"
SHIPPED = ("diagnostics", "files", "program", "runtime", "symbolic")
"""The packages of which the directory has copies."""
_BYTECODE = "__pycache__"
_EARLIER = frozenset({PROGRAM, KERNELS, MAIN, "model.rt"})
_EARLIER_FOLDERS = ("imports", "variants", *SHIPPED)


@dataclass(slots=True)
class DirectoryContents:
    """The files of a directory by relative path; ``missing`` are listed, but not there.

    ``foreign`` are also folders.
    """

    whole: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


def contents_of(folder: Path) -> DirectoryContents:
    """Compare all files of a directory with what was written there. Raises ``OSError``."""
    contents = DirectoryContents()
    if not (folder / PROGRAM).is_file():
        contents.foreign = sorted(os.listdir(folder))
        return contents
    try:
        listed = _listed((folder / PROGRAM).read_bytes())
    except ProgramError:
        contents.changed.append(PROGRAM)
        listed = None
    ours = {PROGRAM: ""} if listed is None else {**listed, PROGRAM: ""}
    folders = {str(parent) for name in ours for parent in PurePath(name).parents}
    for name, is_folder in _walk(folder, "", folders):
        if name in ours and not is_folder:
            if name != PROGRAM:
                is_whole = _is_file_with(folder / name, ours[name])
                (contents.whole if is_whole else contents.changed).append(name)
        elif not _may_be_there(folder, PurePath(name), is_folder, listed is None):
            contents.foreign.append(name)
    there = {*contents.whole, *contents.changed, PROGRAM}
    contents.missing = [name for name in ours if name not in there]
    return contents


@lru_cache(1)  # a folder that is replaced is looked at before and after that
def _listed(content: bytes) -> Mapping[str, str] | None:
    """Digests by name; ``None`` if another version wrote it, which listed less.

    Raises ``ProgramError`` if it was changed.
    """
    try:
        listed = dict(load(content.decode()).files)
    except (ProgramError, UnicodeDecodeError) as error:
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict) and data.get("version", VERSION) != VERSION:
            return None
        raise ProgramError(str(error)) from None
    return listed if MAIN in listed else None


def _walk(root: Path, below: str, folders: set[str]) -> Iterator[tuple[str, bool]]:
    """All files, and the folders in which no file was written, in order."""
    with os.scandir(root / below) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        name = f"{below}{entry.name}"
        if not entry.is_dir(follow_symlinks=False):
            yield name, False
        elif name in folders:
            yield from _walk(root, f"{name}/", folders)
        else:
            yield name, True
            if _is_known_folder(PurePath(name)) and not is_temporary(entry.name):
                yield from _walk(root, f"{name}/", folders)


def _is_known_folder(path: PurePath) -> bool:
    """Whether a folder may hold files of ours that are not listed."""
    return path.name == _BYTECODE or path.parts[0] in (FOLDER, *_EARLIER_FOLDERS)


def _may_be_there(root: Path, path: PurePath, is_folder: bool, earlier: bool) -> bool:
    """Whether something that is not listed is ours; ``earlier``: there is no complete list."""
    first, parent = path.parts[0], path.parent.name
    if is_temporary(path.name):
        return True
    if path.name == _BYTECODE or parent == _BYTECODE:
        return is_folder == (path.name == _BYTECODE) and (is_folder or ".pyc" in path.name)
    if first == FOLDER:
        return is_folder or _is_tuned(root, path)
    if not earlier:
        return False
    if first in _EARLIER_FOLDERS:
        return is_folder or path.suffix in (".py", ".rt") or path.name == PROGRAM
    return not is_folder and str(path) in _EARLIER


def _is_tuned(root: Path, path: PurePath) -> bool:
    """Whether a file in the folder of tuning is as it was written."""
    try:
        if path == PurePath(FOLDER, FILE):
            load_choices((root / path).read_text(encoding="utf-8"))
            return True
        listed = load((root / path.parent / PROGRAM).read_text(encoding="utf-8")).files
    except (OSError, UnicodeDecodeError, ProgramError):
        return False
    sums = {**dict(listed), PROGRAM: ""}
    if path.name not in sums or len(path.parts) != len((FOLDER, "", "")):
        return False
    return path.name == PROGRAM or _is_file_with(root / path, sums[path.name])


def _is_file_with(path: Path, listed: str) -> bool:
    return not path.is_symlink() and path.is_file() and digest(path.read_bytes()) == listed
