"""`check DIR`: whether every file of a compiled program is as it was written."""

from pathlib import Path

from tempoc.cli.reports.errors import missing_file
from tempoc.codegen.program.contents import DirectoryContents, contents_of
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.files.snapshot import read_folder
from tempoc.runtime.load.directory import read_stored
from tempoc.runtime.messages.run import changed_file


def check_directory(directory: str) -> str:
    """What a directory holds, in words, if it is whole. Raises `DiagnosticError`."""
    # Says what is wrong with the program, its variants and choices.
    read_stored(directory)
    there = read_folder(directory, lambda folder: _whole_contents(folder.path))
    others = f"; not from the compilation: {', '.join(there.foreign)}" if there.foreign else ""
    return f"fine, {len(there.whole) + 1} files are as they were written{others}"


def _whole_contents(folder: Path) -> DirectoryContents:
    there = contents_of(folder)
    changed = [changed_file(str(folder / name)) for name in there.changed]
    missing = [missing_file(str(folder / name)) for name in there.missing]
    if changed or missing:
        raise DiagnosticError(*changed, *missing)
    return there
