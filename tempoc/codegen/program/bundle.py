"""Writes the directory of a compiled program, all of it or nothing.

``kernels.py`` and ``program.json`` are the program; ``diagnostics/``, ``program/``, ``runtime/``
and ``symbolic/`` are verbatim copies of what runs it, so that ``python DIR`` needs numpy and jax
but not the compiler; ``model.rt`` and ``imports/`` keep the sources. Other programs that compute
the same, each with its own ``kernels.py`` and ``program.json``, are in ``variants/``.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePath
from types import MappingProxyType

from tempoc.base.graphs import reachable
from tempoc.codegen.errors import cannot_write, not_a_directory, not_ours
from tempoc.codegen.program.assemble import EmittedProgram
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.program.codec import dump
from tempoc.program.nodes.variants import FOLDER

SOURCE, DIGEST = "source.", "digest."
"""Entries of the provenance that name sources, and their hashes by name."""
SHIPPED = ("diagnostics", "program", "runtime", "symbolic")
RUNNERS = ("tempoc.runtime.main", "tempoc.runtime.run", "tempoc.runtime.ready")
"""The modules that a compiled directory offers."""
_IMPORT = re.compile(r"^\s*from (tempoc[\w.]*) import (\([^)]*\)|.+)$", re.MULTILINE)
_NAME = re.compile(r"(?<!\bas )\b\w+")
"""What is imported, not the name that it gets: that may be another module's."""
_PACKAGE = Path(__file__).resolve().parents[2]
_OURS = frozenset(
    {"kernels.py", "program.json", "__main__.py", "model.rt", "imports", "__pycache__", *SHIPPED}
    | {"variants", FOLDER}
)
_MAIN = '''"""Runs this compiled program: ``python DIR --bounds T=64 --input x=x.npy``."""

import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
# The runner was written as a part of the package `tempoc`; here this folder takes its place.
package = ModuleType("tempoc")
package.__path__ = [str(HERE)]
sys.modules["tempoc"] = package

try:
    from tempoc.runtime.main import main
except ImportError as error:
    sys.exit(f"error[RT505]: {HERE} cannot run: {error}\\nhelp: it needs Python with numpy and jax")

if __name__ == "__main__":
    sys.exit(main([str(HERE), *sys.argv[1:]]))
'''


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
) -> None:
    """Write or replace the directory.

    ``sources`` are the main file, then what it imports, by key; ``options`` those of the
    compilation. Both are kept, so that it can be repeated. ``beside`` are the folders of the
    files: kept if the program calls Python functions, which are looked for there. ``others`` are
    the variants that the program names.

    The directory appears complete or not at all; one that is not from an earlier compilation is
    never replaced. Raises ``DiagnosticError``.
    """
    target = Path(directory).resolve()
    _refuse_foreign(target, str(directory))
    fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(fresh, ignore_errors=True)
        folders = extern_folders(emitted, beside)
        provenance = {**options, **folders}
        others = [replace(o, options={**o.options, **folders}) for o in others]
        for name, text in contents(emitted, sources, provenance, others).items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        if target.exists():
            target.rename(old)
        fresh.rename(target)
    except OSError as error:
        raise DiagnosticError(cannot_write(str(directory), _reason(error))) from None
    finally:
        # Also on an interrupt: either the new directory stands, or the old one again.
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


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
        base = PurePath(source.path).name
        name = f"imports/{base}" if number else "model.rt"
        names[key] = name if name not in names.values() else f"imports/{number}_{base}"
    digests = {f"{SOURCE}{key}": name for key, name in names.items()}
    digests |= {f"{DIGEST}{name}": digest(sources[key].text) for key, name in names.items()}
    below = {
        f"{o.name}/{name}": text
        for o in others
        for name, text in program_files(
            o.emitted, {**o.options, **relative_provenance(digests)}
        ).items()
    }
    files = {
        "__main__.py": _MAIN,
        **program_files(emitted, {**options, **digests}, below),
        **below,
    }
    files |= {name: sources[key].text for key, name in names.items()}
    return files | dict(_shipped())


def program_files(
    emitted: EmittedProgram,
    provenance: Mapping[str, str],
    below: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """The two files of a program, which lists the hashes of its files and of those ``below`` it."""
    hashed = {"kernels.py": emitted.kernels, **below}
    program = replace(
        emitted.program,
        files=tuple((name, digest(text)) for name, text in hashed.items()),
        provenance=tuple(provenance.items()),
    )
    return {"kernels.py": emitted.kernels, "program.json": dump(program)}


def relative_provenance(provenance: Mapping[str, str]) -> dict[str, str]:
    """The provenance entries of sources, for a program two folders below them."""
    up, relative = "../../", {}
    for key, value in provenance.items():
        if key.startswith(SOURCE):
            relative[key] = up + value
        elif key.startswith(DIGEST):
            relative[DIGEST + up + key.removeprefix(DIGEST)] = value
    return relative


def digest(text: str) -> str:
    """The SHA-256 of a text in a file."""
    return sha256(text.encode()).hexdigest()


@cache
def _shipped() -> Mapping[str, str]:
    """The modules that a run imports, by path: they are copied into the directory."""
    modules = {f"tempoc/{path}".removesuffix(".py").replace("/", "."): path for path in _paths()}
    texts = {name: (_PACKAGE / path).read_text(encoding="utf-8") for name, path in modules.items()}

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


def _reason(error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a part of its path is a file"
    return error.strerror or str(error)


def _refuse_foreign(target: Path, shown: str) -> None:
    """Refuse to replace anything but an earlier compilation or an empty directory."""
    try:
        if target.exists() and not target.is_dir():
            raise DiagnosticError(not_a_directory(shown))
        entries = sorted(p.name for p in target.iterdir()) if target.is_dir() else []
    except OSError as error:
        raise DiagnosticError(cannot_write(shown, _reason(error))) from None
    foreign = [name for name in entries if name not in _OURS]
    if not foreign and entries and "program.json" not in entries:
        foreign = entries
    if foreign:
        raise DiagnosticError(not_ours(shown, foreign[0]))
