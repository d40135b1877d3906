"""Loads a compiled program: its kernels, and the user functions that they call."""

from __future__ import annotations

import functools
import linecache
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import CO_VARARGS
from pathlib import Path
from types import FunctionType
from typing import Any

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.variants import TunedChoice
from tempoc.runtime.device.backend import check_device
from tempoc.runtime.host.externs import TracedExtern
from tempoc.runtime.host.host_calls import HostCallable
from tempoc.runtime.host.imports import find_functions
from tempoc.runtime.load.directory import KERNELS, StoredProgram, read_stored, source_folders
from tempoc.runtime.messages import run as errors
from tempoc.runtime.rewriting.names import code_names


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProgram:
    """A program and the functions of its ``kernels.py``, in the order of ``program.kernels``.

    ``traced`` are the user's functions that they call, ``hosts`` those that the runner calls, by
    their names in the program. ``known`` is a cache for later runs (``execution/specialize.py``),
    with the kernels that are ``calling`` functions of the user, which may do something else each
    time. ``compiled`` are others, which a ``thread`` compiles once however often it loads the
    program; they belong to this one alone if it is 0.

    ``stored`` is what was read of its directory. Where it is one of several programs that compute
    the same, ``variant`` is its folder, and ``about`` says what is different; ``choices`` are those
    among all of them that were measured (``execution/variants.py``).
    """

    program: prog.Program
    functions: tuple[Callable[..., Any], ...]
    traced: tuple[TracedExtern, ...] = ()
    hosts: Mapping[str, HostCallable] = field(default_factory=dict)
    known: dict[object, object] = field(default_factory=dict)
    compiled: dict[object, object] = field(default_factory=dict)
    calling: frozenset[str] = frozenset()
    thread: int = 0
    stored: StoredProgram | None = None
    extern_path: tuple[str | Path, ...] = ()
    variant: str = ""
    about: str = ""
    choices: tuple[TunedChoice, ...] = ()

    def for_this_thread(self) -> LoadedProgram:
        """The program itself, or with kernels of its own if they are shared in another thread."""
        if self.thread in (0, threading.get_ident()):
            return self
        return replace(self, known={}, compiled={}, thread=0)


def load(directory: str | Path, extern_path: Sequence[str | Path] = ()) -> LoadedProgram:
    """Read, check and import a compiled program and the Python functions that it calls.

    These are looked for in ``extern_path``, then beside the program's source. Raises ``RunError``.
    """
    return load_stored(read_stored(directory), extern_path)


def load_stored(
    stored: StoredProgram, extern_path: Sequence[str | Path], shares: bool = True
) -> LoadedProgram:
    """Import a program that was read, as `load` does. Raises ``RunError``.

    It ``shares`` its kernels with those that this thread loads from the same files.
    """
    program = stored.program
    check_device()
    thread = threading.get_ident() if shares else 0
    content = thread, program, stored.place, stored.files[KERNELS]
    compiled = _shared_kernels(*content) if thread else {}
    alone = not (program.externs or program.variants or stored.choices)
    if alone and isinstance(same := compiled.get(LoadedProgram), LoadedProgram):
        return same
    user_functions = find_functions(
        program.externs, extern_path, source_folders(program.provenance)
    )
    scope = _scope(program, stored.place / KERNELS, stored.files[KERNELS])
    traced = tuple(TracedExtern(e, user_functions[e]) for e in program.externs if not e.host)
    scope |= {t.extern.alias: t for t in traced}
    loaded = LoadedProgram(
        program=program,
        functions=tuple(scope[k.name] for k in program.kernels),
        traced=traced,
        hosts={e.alias: HostCallable(e, user_functions[e]) for e in program.externs if e.host},
        compiled=compiled,
        calling=_calling(scope) if traced else frozenset(),
        thread=thread,
        stored=stored,
        extern_path=tuple(extern_path),
        choices=stored.choices,
    )
    if thread and alone:
        compiled[LoadedProgram] = loaded
    return loaded


@functools.lru_cache(maxsize=8)
def _shared_kernels(*content: object) -> dict[object, object]:
    """The compiled kernels of a thread, a program, its place and the text of its functions.

    Those of the last few stay when nothing else has them.
    """
    return {}


def _calling(scope: Mapping[str, Any]) -> frozenset[str]:
    """The functions that use, themselves or by others, what is no function of this text."""
    codes = {n: code_names(f.__code__) for n, f in scope.items() if isinstance(f, FunctionType)}
    calling = frozenset(n for n, f in scope.items() if callable(f) and n not in codes)
    while more := {n for n, names in codes.items() if names & calling} - calling:
        calling |= more
    return calling


def _scope(program: prog.Program, path: Path, content: bytes) -> dict[str, Any]:
    """The names of the kernels' file, all kernels among them."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise RunError(errors.bad_kernels(str(path), str(error))) from None
    scope = namespace(text, str(path))
    missing = [k.name for k in program.kernels if not callable(scope.get(k.name))]
    if missing:
        reason = f"it does not define {errors.listed(missing)}"
        raise RunError(errors.bad_kernels(str(path), reason))
    other = [n for n, count in _arguments(program) if not _takes(scope[n], count)]
    last = {k.name: max(k.donated, default=-1) for k in program.kernels}
    other += [n for n, count in last.items() if not _takes(scope[n], count + 1, more=True)]
    if other:
        reason = f"{errors.listed(other)} takes other arguments than the program gives"
        raise RunError(errors.bad_kernels(str(path), reason))
    return scope


def _arguments(program: prog.Program) -> Iterator[tuple[str, int]]:
    """The kernels of all calls, with the numbers of their arguments."""
    for s in statements_in(program.tree):
        if isinstance(s, prog.Call):
            yield s.kernel, len(s.args)
        elif isinstance(s, prog.Region | prog.Block):
            yield s.kernel, len(s.carried) + len(s.read)


def _takes(kernel: Callable[..., Any], count: int, *, more: bool = False) -> bool:
    """Whether a function takes the coordinates and so many arrays, or ``more`` of them."""
    code = getattr(kernel, "__code__", None)
    if code is None or code.co_flags & CO_VARARGS:
        return True
    return bool(code.co_argcount == count + 1 or (more and code.co_argcount > count))


def namespace(text: str, path: str) -> dict[str, Any]:
    """The names that the text of a ``kernels.py`` defines. Raises ``RunError`` if it fails."""
    # JAX writes the name down as a text, which names of files need not be.
    path = path.encode("utf-8", "backslashreplace").decode()
    scope: dict[str, Any] = {"__name__": "kernels", "__file__": path}
    try:
        exec(compile(text, path, "exec"), scope)
    except (Exception, SystemExit) as error:
        raise RunError(errors.bad_kernels(path, f"{type(error).__name__}: {error}")) from None
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    return scope
