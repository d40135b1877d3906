"""Reads what only the compiler wants of a directory: the program alone, and its sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tempoc.diagnostics.diagnostic import RunError
from tempoc.files.snapshot import OpenFolder
from tempoc.program.nodes.nodes import Program
from tempoc.runtime.load.directory import checked, program_in, read_from, with_kernels
from tempoc.runtime.messages import run as errors


def load_program(directory: str | Path) -> Program:
    """The program in a directory; nothing else is read. Raises ``RunError``."""
    return read_from(directory, program_in)


def read_sources(directory: str | Path) -> tuple[Program, Mapping[str, bytes]]:
    """The program in a directory and the sources kept there, by key. Raises ``RunError``.

    The main file is the first.
    """
    return read_from(directory, _sources)


def _sources(folder: OpenFolder) -> tuple[Program, Mapping[str, bytes]]:
    program, _ = with_kernels(folder)
    provenance = dict(program.provenance)
    names = {
        key.removeprefix("source."): name
        for key, name in provenance.items()
        if key.startswith("source.")
    }
    if not names or any(f"digest.{name}" not in provenance for name in names.values()):
        reason = "it does not say from which sources it was made"
        raise RunError(errors.damaged_program(str(folder.path), reason))
    sources = {k: checked(folder, name, provenance[f"digest.{name}"]) for k, name in names.items()}
    return program, sources
