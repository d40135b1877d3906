"""Opens the directory of a compiled program and trusts nothing in it: schema, version, hashes."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tempoc.program.codec import load as decode
from tempoc.program.errors import ProgramError
from tempoc.program.nodes import Program
from tempoc.program.verify import verify
from tempoc.runtime import errors
from tempoc.runtime.externs import Traced
from tempoc.runtime.hosts import Hosted
from tempoc.runtime.imports import find
from tempoc.runtime.problems import RunError

PROGRAM = "program.json"
KERNELS = "kernels.py"
BESIDE = "externs"
"""Entries of the provenance tell the folders of the program's source: this, ``externs.1``, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A program and the functions of its ``kernels.py``, in the order of ``program.kernels``.

    ``traced`` are the user's functions that they call, ``hosts`` those that the runner calls, by
    their names in the program. ``known`` is what earlier runs leave to later ones (``prepared``).
    """

    program: Program
    functions: tuple[Callable[..., Any], ...]
    traced: tuple[Traced, ...] = ()
    hosts: Mapping[str, Hosted] = field(default_factory=dict)
    known: dict[object, object] = field(default_factory=dict)


def load(directory: str | Path, extern_path: Sequence[str | Path] = ()) -> Loaded:
    """Read, check and import a compiled program and the Python functions that it calls.

    These are looked for in ``extern_path``, then beside the program's source. Raises ``RunError``.
    """
    program = load_program(directory)
    source = Path(directory) / KERNELS
    if not source.is_file():
        raise RunError(errors.no_program(str(directory), KERNELS, True))
    own = find(program.externs, extern_path, beside(program.provenance))
    scope = _scope(program, source)
    traced = tuple(Traced(e, own[e]) for e in program.externs if not e.host)
    scope |= {t.extern.alias: t for t in traced}
    functions = tuple(scope[k.name] for k in program.kernels)
    hosts = {e.alias: Hosted(e, own[e]) for e in program.externs if e.host}
    return Loaded(program=program, functions=functions, traced=traced, hosts=hosts)


def beside(provenance: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The folders of the program's source, the main file's first, if it calls functions."""
    return tuple(value for key, value in provenance if key.partition(".")[0] == BESIDE)


def load_program(directory: str | Path) -> Program:
    """Read and check ``program.json`` and the digests in it. Raises ``RunError``."""
    directory = Path(directory)
    path = directory / PROGRAM
    if not path.is_file():
        raise RunError(errors.no_program(str(directory), PROGRAM, directory.is_dir()))
    try:
        program = decode(path.read_text(encoding="utf-8"))
        verify(program)
    except (OSError, UnicodeDecodeError, ProgramError) as error:
        raise RunError(errors.damaged_program(str(path), str(error))) from None
    for name, digest in program.files:
        check_digest(directory, name, digest)
    return program


def check_digest(directory: Path, name: str, digest: str) -> None:
    """A file of a compiled program is there, unchanged. Raises ``RunError``."""
    path = directory / name
    if not path.is_file():
        raise RunError(errors.no_program(str(directory), name, True))
    if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        raise RunError(errors.changed_file(str(path)))


def _scope(program: Program, path: Path) -> dict[str, Any]:
    """The names of the kernels' file, all kernels among them."""
    text = path.read_text(encoding="utf-8")
    scope = namespace(text, str(path))
    missing = [k.name for k in program.kernels if not callable(scope.get(k.name))]
    if missing:
        reason = f"it does not define {errors.listed(missing)}"
        raise RunError(errors.bad_kernels(str(path), reason))
    return scope


def namespace(text: str, path: str) -> dict[str, Any]:
    """The names that the text of a ``kernels.py`` defines. Raises ``RunError`` if it fails."""
    scope: dict[str, Any] = {"__name__": "kernels", "__file__": path}
    try:
        exec(compile(text, path, "exec"), scope)
    except Exception as error:
        raise RunError(errors.bad_kernels(path, f"{type(error).__name__}: {error}")) from None
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    return scope
