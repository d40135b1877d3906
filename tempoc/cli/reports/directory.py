"""`check DIR`: whether every file of a compiled program is as it was written."""

from pathlib import Path

from tempoc.cli.reports.errors import missing_file
from tempoc.codegen.program.contents import DirectoryContents, contents_of
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.files.snapshot import read_folder
from tempoc.runtime.load.directory import PROGRAM, StoredProgram, read_stored
from tempoc.runtime.messages.run import changed_file


def check_directory(directory: str) -> tuple[str, tuple[str, ...]]:
    """What a directory holds, in words, if it is whole, and the Python functions that it calls.

    Raises `DiagnosticError`.
    """
    # Says what is wrong with the program, its variants and choices.
    stored = read_stored(directory)
    there = read_folder(directory, lambda folder: _whole_contents(folder.path))
    others = f"; not from the compilation: {', '.join(there.foreign)}" if there.foreign else ""
    text = f"fine, {len(there.whole) + 1} files are as they were written{others}"
    return text, _python_functions(stored)


def _python_functions(stored: StoredProgram) -> tuple[str, ...]:
    """Those of the program, of its variants and choices: ``module:function``."""
    folders = [name.removesuffix(f"/{PROGRAM}") for name in stored.files if "/" in name]
    below = [stored.below(name).program for name in folders if f"{name}/{PROGRAM}" in stored.files]
    externs = [e for program in (stored.program, *below) for e in program.externs]
    return tuple(dict.fromkeys(f"{e.module}:{e.function}" for e in externs))


def _whole_contents(folder: Path) -> DirectoryContents:
    there = contents_of(folder)
    changed = [changed_file(str(folder / name)) for name in there.changed]
    missing = [missing_file(str(folder / name)) for name in there.missing]
    if changed or missing:
        raise DiagnosticError(*changed, *missing)
    return there
