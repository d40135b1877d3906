"""Writes the directory of a compiled program, all of it or nothing.

``kernels.py`` and ``program.json`` are the program; ``diagnostics/``, ``files/``, ``program/``,
``runtime/`` and ``symbolic/`` are verbatim copies of what runs it, so that ``python DIR`` needs
numpy and jax but not the compiler; ``model.rt`` and ``imports/`` keep the sources. Other programs
that compute the same, each with its own ``kernels.py`` and ``program.json``, are in ``variants/``.
``program.json`` lists the digests of all other files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePath
from types import MappingProxyType

from tempoc.base.graphs import reachable
from tempoc.codegen.errors import (
    being_written,
    cannot_write,
    edited,
    not_a_directory,
    not_ours,
)
from tempoc.codegen.program.assemble import EmittedProgram
from tempoc.codegen.program.contents import KERNELS, MAIN, PROGRAM, SHIPPED, contents_of
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.files.exchange import replace_folder
from tempoc.files.snapshot import digest
from tempoc.program.codec import dump

SOURCE, DIGEST = "source.", "digest."
"""Entries of the provenance that name sources, and their hashes by name."""
RUNNERS = (
    "tempoc.runtime.main",
    "tempoc.runtime.run",
    "tempoc.runtime.ready",
    "tempoc.files.interrupts",
)
"""The modules that a compiled directory offers."""
_IMPORT = re.compile(r"^\s*from (tempoc[\w.]*) import (\([^)]*\)|.+)$", re.MULTILINE)
_NAME = re.compile(r"(?<!\bas )\b\w+")
"""What is imported, not the name that it gets: that may be another module's."""
_PACKAGE = Path(__file__).resolve().parents[2]
_STANDALONE = "files/standalone.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledVariant:
    """Another program that computes the same, in the folder ``name``, and its options."""

    name: str
    emitted: EmittedProgram
    options: Mapping[str, str]


def write_bundle(
    directory: str | Path,
    emitted: EmittedProgram,
    sources: Mapping[str, Source] = MappingProxyType({}),
    options: Mapping[str, str] = MappingProxyType({}),
    beside: Sequence[str] = (),
    others: Sequence[BundledVariant] = (),
    *,
    durable: bool = True,
) -> None:
    """Write or replace the directory.

    ``sources`` are the main file, then what it imports, by key; ``options`` those of the
    compilation. Both are kept, so that it can be repeated. ``beside`` are the folders of the
    files: kept if the program calls Python functions, which are looked for there. ``others`` are
    the variants that the program names.

    The directory appears complete or not at all, and the one before stays until then. It is synced
    to the disk if ``durable``. One that is not from an earlier compilation, and one with files that
    were added or changed since, is never replaced. Raises ``DiagnosticError``.
    """
    target, shown = Path(directory).resolve(), str(directory)
    folders = extern_folders(emitted, beside)
    others = [replace(o, options={**o.options, **folders}) for o in others]
    texts = contents(emitted, sources, {**options, **folders}, others)
    files = {name: text.encode() for name, text in texts.items()}
    try:
        if not target.name:
            _refuse_foreign(target, shown)
        replace_folder(target, files, lambda old: _refuse_foreign(old, shown), durable=durable)
    except TimeoutError:
        raise DiagnosticError(being_written(shown)) from None
    except OSError as error:
        raise DiagnosticError(cannot_write(shown, _reason(error))) from None


def extern_folders(emitted: EmittedProgram, beside: Sequence[str]) -> dict[str, str]:
    """The provenance entries of folders with Python functions, if the program calls any."""
    folders = enumerate(beside if emitted.program.externs else ())
    return {f"externs.{k}" if k else "externs": folder for k, folder in folders}


def contents(
    emitted: EmittedProgram,
    sources: Mapping[str, Source],
    options: Mapping[str, str],
    others: Sequence[BundledVariant] = (),
) -> Mapping[str, str]:
    """All files of the directory by name, the same bytes for the same program."""
    names: dict[str, str] = {}
    for number, (key, source) in enumerate(sources.items()):
        # Every system can write such a name, whatever its locale.
        base = re.sub(r"[^ -~]", "_", PurePath(source.path).name)
        name = f"imports/{base}" if number else "model.rt"
        names[key] = name if name not in names.values() else f"imports/{number}_{base}"
    digests = {f"{SOURCE}{key}": name for key, name in names.items()}
    digests |= {f"{DIGEST}{name}": text_digest(sources[key].text) for key, name in names.items()}
    below = {
        f"{o.name}/{name}": text
        for o in others
        for name, text in program_files(
            o.emitted, {**o.options, **relative_provenance(digests)}
        ).items()
    }
    others_files = {
        **below,
        MAIN: _text(_STANDALONE),
        **{name: sources[key].text for key, name in names.items()},
        **_shipped(),
    }
    return program_files(emitted, {**options, **digests}, others_files) | others_files


def program_files(
    emitted: EmittedProgram,
    provenance: Mapping[str, str],
    below: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """The two files of a program, which lists the digests of the first and of those ``below``."""
    hashed = {KERNELS: emitted.kernels, **below}
    program = replace(
        emitted.program,
        files=tuple((name, text_digest(text)) for name, text in hashed.items()),
        provenance=tuple(provenance.items()),
    )
    return {KERNELS: emitted.kernels, PROGRAM: dump(program)}


def relative_provenance(provenance: Mapping[str, str]) -> dict[str, str]:
    """The provenance entries of sources, for a program two folders below them."""
    up, relative = "../../", {}
    for key, value in provenance.items():
        if key.startswith(SOURCE):
            relative[key] = up + value
        elif key.startswith(DIGEST):
            relative[DIGEST + up + key.removeprefix(DIGEST)] = value
    return relative


def text_digest(text: str) -> str:
    """The SHA-256 of a text in a file."""
    return digest(text.encode())


@cache
def _shipped() -> Mapping[str, str]:
    """The modules that a run imports, by path: they are copied into the directory."""
    modules = {f"tempoc/{path}".removesuffix(".py").replace("/", "."): path for path in _paths()}
    texts = {name: _text(path) for name, path in modules.items()}

    def imported(module: str) -> list[str]:
        statements = _IMPORT.findall(texts[module])
        names = [f"{source}.{name}" for source, part in statements for name in _NAME.findall(part)]
        sources = [source for source, _ in statements]
        return [name for name in (*sources, *names) if name in modules]

    used = reachable(RUNNERS, imported)
    packages = {parent for name in used for parent in PurePath(modules[name]).parents}
    inits = [path for path in modules.values() if path.endswith("__init__.py")]
    paths = {modules[name] for name in used} | {p for p in inits if PurePath(p).parent in packages}
    return {path: texts[name] for name, path in modules.items() if path in paths}


def _paths() -> list[str]:
    """The files of the packages of which modules may be copied."""
    files = (path for package in SHIPPED for path in (_PACKAGE / package).rglob("*.py"))
    return sorted(path.relative_to(_PACKAGE).as_posix() for path in files)


def _text(path: str) -> str:
    return (_PACKAGE / path).read_text(encoding="utf-8")


def _reason(error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a part of its path is a file"
    return error.strerror or str(error)


def _refuse_foreign(folder: Path, shown: str) -> None:
    """Refuse to replace anything but an earlier compilation, as it was, or an empty directory.

    ``shown`` is the name of the directory in errors. Raises ``DiagnosticError`` and ``OSError``.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DiagnosticError(not_a_directory(shown))
    there = contents_of(folder)
    if there.foreign:
        raise DiagnosticError(not_ours(shown, there.foreign[0]))
    if there.changed:
        raise DiagnosticError(edited(shown, there.changed[0]))
