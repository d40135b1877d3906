"""Records, in the folder of a compiled program, the variant that was measured to be the fastest.

The variant is written into a folder of its own, which appears complete or not at all; then
``tuned/choices.json``, which names it, is replaced atomically. A concurrent reader sees the old
choice or the new one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tempoc.codegen.errors import cannot_write
from tempoc.codegen.program.assemble import EmittedProgram
from tempoc.codegen.program.bundle import digest, program_files, relative_provenance
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.program.codec import dump, load_choices
from tempoc.program.nodes.variants import FILE, FOLDER, Choices, TunedChoice


def write_choice(
    directory: str,
    choice: TunedChoice,
    emitted: EmittedProgram | None,
    options: Mapping[str, str],
    provenance: Mapping[str, str],
) -> None:
    """Record that a program is the fastest where ``choice`` applies; fills in its name and digest.

    ``options`` are those of the program, ``provenance`` is that of the program in the directory.
    With ``None`` for the program that one is the fastest, and the earlier choice is removed.
    Raises ``DiagnosticError``.
    """
    place = Path(directory)
    try:
        base = digest((place / "program.json").read_text(encoding="utf-8"))
        before = _read(place / FOLDER / FILE, base)
        after = [c for c in before if not c.applies(choice)]
        if emitted is not None:
            variant_provenance = {
                **options,
                **_folders(provenance),
                **relative_provenance(provenance),
            }
            after.append(_written(place, choice, program_files(emitted, variant_provenance)))
        if after != before:
            _replace(place / FOLDER, dump(Choices(program=base, choices=tuple(after))))
        used = [c.name for c in after]
        for name in (c.name for c in before if c.name not in used):
            shutil.rmtree(place / name, ignore_errors=True)
    except OSError as error:
        raise DiagnosticError(cannot_write(directory, error.strerror or str(error))) from None


def _read(path: Path, base: str) -> list[TunedChoice]:
    """The recorded choices for this program."""
    if not path.is_file():
        return []
    recorded = load_choices(path.read_text(encoding="utf-8"))
    return [*recorded.choices] if recorded.program == base else []


def _folders(provenance: Mapping[str, str]) -> dict[str, str]:
    """The provenance entries of folders with Python functions."""
    return {k: v for k, v in provenance.items() if k.partition(".")[0] == "externs"}


def _written(place: Path, choice: TunedChoice, files: Mapping[str, str]) -> TunedChoice:
    """The choice, with its program written into a folder named after the program's digest."""
    program_digest = digest(files["program.json"])
    name = f"{FOLDER}/{choice.name}-{program_digest[:8]}"
    target = place / name
    if not target.exists():
        fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            for file, text in files.items():
                (fresh / file).write_text(text, encoding="utf-8", newline="\n")
            fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return replace(choice, name=name, digest=program_digest)


def _replace(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    fresh = folder / f".{FILE}.{os.getpid()}.new"
    try:
        fresh.write_text(text, encoding="utf-8", newline="\n")
        os.replace(fresh, folder / FILE)
    finally:
        fresh.unlink(missing_ok=True)
