"""Records, in the folder of a compiled program, the variant that was measured to be the fastest.

The variant is written into a folder of its own, which appears complete or not at all; then
``tuned/choices.json``, which names it, is replaced atomically. A concurrent reader sees the old
choice or the new one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from tempoc.codegen.errors import being_written, cannot_write, recompiled
from tempoc.codegen.program.assemble import EmittedProgram
from tempoc.codegen.program.bundle import program_files, relative_provenance, text_digest
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.files.durable import make_folder, replace_text
from tempoc.files.exchange import replace_folder
from tempoc.files.locks import exclusive
from tempoc.files.snapshot import digest
from tempoc.program.codec import dump, load_choices
from tempoc.program.nodes.nodes import Program
from tempoc.program.nodes.variants import FILE, FOLDER, Choices, TunedChoice


def write_choice(
    directory: str,
    choice: TunedChoice,
    emitted: EmittedProgram | None,
    options: Mapping[str, str],
    program: Program,
) -> None:
    """Record that a program is the fastest where ``choice`` applies; fills in its name and digest.

    ``options`` are those of the emitted program, ``program`` is the one in the directory. With
    ``None`` for the former the latter is the fastest, and the earlier choice is removed. Raises
    ``DiagnosticError``, also if the directory holds another program by now.
    """
    place = Path(directory).resolve()
    try:
        with _alone(place):
            before = _recorded(place, directory, program)
            after = [c for c in before if not c.applies(choice)]
            if emitted is not None:
                provenance = dict(program.provenance)
                variant_provenance = {
                    **options,
                    **_folders(provenance),
                    **relative_provenance(provenance),
                }
                after.append(_written(place, choice, program_files(emitted, variant_provenance)))
            if after != before:
                make_folder(place / FOLDER)
                base = text_digest(dump(program))
                replace_text(
                    place / FOLDER / FILE, dump(Choices(program=base, choices=tuple(after)))
                )
            used = [c.name for c in after]
            for name in (c.name for c in before if c.name not in used):
                shutil.rmtree(place / name, ignore_errors=True)
    except TimeoutError:
        raise DiagnosticError(being_written(directory)) from None
    except OSError as error:
        raise DiagnosticError(cannot_write(directory, error.strerror or str(error))) from None


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """No other process replaces the directory within the block, or records a choice there."""
    with ExitStack() as stack:
        # Who may not write beside the directory does not compile to it either.
        with suppress(PermissionError):
            stack.enter_context(exclusive(place))
        yield


def _recorded(place: Path, shown: str, program: Program) -> list[TunedChoice]:
    """The choices for a program. Raises ``DiagnosticError`` if the directory has another one."""
    base = text_digest(dump(program))
    if digest((place / "program.json").read_bytes()) != base:
        raise DiagnosticError(recompiled(shown))
    return _read(place / FOLDER / FILE, base)


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
    program_digest = text_digest(files["program.json"])
    name = f"{FOLDER}/{choice.name}-{program_digest[:8]}"
    target = place / name
    make_folder(target.parent)
    contents = {file: text.encode() for file, text in files.items()}
    replace_folder(target, contents, lambda _: None)
    return replace(choice, name=name, digest=program_digest)
