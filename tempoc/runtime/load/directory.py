"""Reads the directory of a compiled program, and checks schema, version and hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.codec import load as decode, load_choices as decode_choices
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.errors import ProgramError
from tempoc.program.nodes.variants import FILE, FOLDER, Choices, TunedChoice, is_folder
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.variants import damaged_choices

PROGRAM = "program.json"
BESIDE = "externs"
"""Entries of the provenance tell the folders of the program's source: this, ``externs.1``, ..."""


def source_folders(provenance: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The folders of the program's source, the main file's first, if it calls functions."""
    return tuple(value for key, value in provenance if key.partition(".")[0] == BESIDE)


def load_program(directory: str | Path) -> prog.Program:
    """Read and check ``program.json`` and the digests in it. Raises ``RunError``."""
    directory = Path(directory)
    path = directory / PROGRAM
    if not path.is_file():
        raise RunError(errors.no_program(str(directory), PROGRAM, directory.is_dir()))
    try:
        program = decode(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ProgramError) as error:
        raise RunError(errors.damaged_program(str(path), str(error))) from None
    for name, digest in program.files:
        check_digest(directory, name, digest)
    return program


def load_choices(directory: str | Path) -> tuple[TunedChoice, ...]:
    """The choices of tuning beside a program. Raises ``RunError`` if they are damaged."""
    directory = Path(directory)
    path = directory / FOLDER / FILE
    if not path.is_file():
        return ()
    try:
        choices = decode_choices(path.read_text(encoding="utf-8"))
        _verify(choices, directory)
    except (OSError, UnicodeDecodeError, ProgramError) as error:
        raise RunError(damaged_choices(str(path), str(error))) from None
    return choices.choices


def _verify(choices: Choices, directory: Path) -> None:
    """Raises ``ProgramError`` if they are not about this program."""
    if choices.program != digest_of(directory / PROGRAM):
        raise ProgramError("it is about another program")
    for choice in choices.choices:
        if not is_folder(choice.name):
            raise ProgramError(f"{choice.name} is no folder's name")
        file = directory / choice.name / PROGRAM
        if not file.is_file() or digest_of(file) != choice.digest:
            raise ProgramError(f"{choice.name} is not there any more, or has changed")


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_digest(directory: Path, name: str, digest: str) -> None:
    """A file of a compiled program is there, unchanged. Raises ``RunError``."""
    path = directory / name
    if not path.is_file():
        raise RunError(errors.no_program(str(directory), name, True))
    if digest_of(path) != digest:
        raise RunError(errors.changed_file(str(path)))
