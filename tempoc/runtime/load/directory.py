"""Reads the directory of a compiled program, and checks schema, version, digests and contents.

Every file is read once, its digest is checked on the bytes that were read, and these are used. What
is read belongs together, even if the program is compiled again meanwhile. Only what is used is
checked: `tempoc check DIR` looks at every file (``codegen/program/contents.py``), and the runner in
the directory is checked when it is imported (``files/standalone.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from tempoc.diagnostics.diagnostic import RunError
from tempoc.files.snapshot import OpenFolder, digest, read_folder
from tempoc.program.analysis.verify import verify
from tempoc.program.codec import load as decode, load_choices as decode_choices
from tempoc.program.nodes.errors import ProgramError
from tempoc.program.nodes.nodes import Program
from tempoc.program.nodes.variants import FILE, FOLDER, Choices, TunedChoice, is_folder
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.variants import damaged_choices

R = TypeVar("R")
PROGRAM, KERNELS = "program.json", "kernels.py"
BESIDE = "externs"
"""Entries of the provenance tell the folders of the program's source: this, ``externs.1``, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProgram:
    """A program as it is in its directory, with all that belongs to it, read at one time.

    ``files`` are the checked bytes of its kernels, and of the programs and kernels of its variants
    and choices, by paths relative to ``place``.
    """

    place: Path
    program: Program
    choices: tuple[TunedChoice, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)

    def below(self, name: str) -> StoredProgram:
        """The variant or choice in the folder ``name``. Raises ``RunError``."""
        place, start = self.place / name, f"{name}/"
        files = {
            path.removeprefix(start): content
            for path, content in self.files.items()
            if path.startswith(start)
        }
        if PROGRAM not in files:
            raise RunError(errors.no_program(str(place), PROGRAM, True))
        program = _decoded(place / PROGRAM, files[PROGRAM])
        for path, listed in program.files:
            if path in files:
                _check(place, path, files[path], listed)
        return StoredProgram(place=place, program=program, files=files)


def source_folders(provenance: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The folders of the program's source, the main file's first, if it calls functions."""
    return tuple(value for key, value in provenance if key.partition(".")[0] == BESIDE)


def read_stored(directory: str | Path) -> StoredProgram:
    """A compiled program with its variants and choices. Raises ``RunError``."""
    return read_from(directory, _whole)


def read_from(directory: str | Path, read: Callable[[OpenFolder], R]) -> R:
    """What ``read`` gives of a folder that stays the same meanwhile. Raises ``RunError``."""
    try:
        return read_folder(directory, read)
    except (FileNotFoundError, NotADirectoryError):
        exists = Path(directory).is_dir()
        raise RunError(errors.no_program(str(directory), PROGRAM, exists)) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunError(errors.damaged_program(str(directory), reason)) from None


def program_in(folder: OpenFolder) -> Program:
    """The program of a folder. Raises ``RunError``."""
    return _decoded(folder.path / PROGRAM, _content(folder, PROGRAM))


@lru_cache(maxsize=8)
def _decoded(path: Path, content: bytes) -> Program:
    """The checked program; the last few are kept, as a program that runs again is read again."""
    try:
        program = decode(content.decode())
        verify(program)
        return program
    except (UnicodeDecodeError, ProgramError) as error:
        raise RunError(errors.damaged_program(str(path), str(error))) from None


def _content(folder: OpenFolder, name: str) -> bytes:
    content = folder.read(name)
    if content is None:
        raise RunError(errors.no_program(str(folder.path), name, True))
    return content


def checked(folder: OpenFolder, name: str, listed: str) -> bytes:
    """The bytes of a file with that digest. Raises ``RunError``."""
    content = _content(folder, name)
    _check(folder.path, name, content, listed)
    return content


def _check(place: Path, name: str, content: bytes, listed: str) -> None:
    if digest(content) != listed:
        raise RunError(errors.changed_file(str(place / name)))


def with_kernels(folder: OpenFolder) -> tuple[Program, dict[str, bytes]]:
    """The program, its kernels, and the files of its variants."""
    program = program_in(folder)
    files = {
        name: checked(folder, name, listed)
        for name, listed in program.files
        if name.rpartition("/")[2] in (PROGRAM, KERNELS)
    }
    if KERNELS not in files:
        files[KERNELS] = _content(folder, KERNELS)
    return program, files


def _whole(folder: OpenFolder) -> StoredProgram:
    program, files = with_kernels(folder)
    choices, tuned = _choices(folder)
    return StoredProgram(place=folder.path, program=program, choices=choices, files=files | tuned)


def _choices(folder: OpenFolder) -> tuple[tuple[TunedChoice, ...], dict[str, bytes]]:
    """The choices of tuning beside a program, and the files of the programs that they name."""
    name = f"{FOLDER}/{FILE}"
    content = folder.read(name)
    if content is None:
        return (), {}
    try:
        choices = decode_choices(content.decode())
        return choices.choices, _chosen_files(folder, choices)
    except (OSError, UnicodeDecodeError, ProgramError) as error:
        raise RunError(damaged_choices(str(folder.path / name), str(error))) from None


def _chosen_files(folder: OpenFolder, choices: Choices) -> dict[str, bytes]:
    """Raises ``ProgramError`` if the choices are not about this program."""
    if choices.program != digest(_content(folder, PROGRAM)):
        raise ProgramError("it is about another program")
    files: dict[str, bytes] = {}
    for choice in choices.choices:
        if not is_folder(choice.name):
            raise ProgramError(f"{choice.name} is no folder's name")
        program = folder.read(f"{choice.name}/{PROGRAM}")
        kernels = folder.read(f"{choice.name}/{KERNELS}")
        if program is None or kernels is None or digest(program) != choice.digest:
            raise ProgramError(f"{choice.name} is not there any more, or has changed")
        files[f"{choice.name}/{PROGRAM}"] = program
        files[f"{choice.name}/{KERNELS}"] = kernels
    return files
