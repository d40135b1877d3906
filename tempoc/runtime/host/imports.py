"""Imports the modules of user functions, each once.

They are searched for in the folders that the user names, then in those of the program's source
files, then on Python's path. Another module of the same name is refused, never used.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from tempoc.diagnostics.diagnostic import Collector, RunError
from tempoc.program.nodes.functions import Extern
from tempoc.runtime.host.user_code import UserCodeError, run_user_code
from tempoc.runtime.messages import run as errors

HostFunction = Callable[..., Any]


def find_functions(
    externs: Sequence[Extern], paths: Sequence[str | Path], beside: Sequence[str | Path]
) -> dict[Extern, HostFunction]:
    """The functions, whose modules are imported once.

    ``paths`` are the folders that were named, ``beside`` those of the program's own files. Raises
    `RunError` with all that cannot be found.
    """
    if not externs:
        return {}
    named, source = ([str(Path(p).resolve()) for p in folders] for folders in (paths, beside))
    folders = list(dict.fromkeys((*named, *source)))
    sys.path[:] = [*folders, *(p for p in sys.path if p not in folders)]
    importlib.invalidate_caches()
    functions: dict[Extern, HostFunction] = {}
    problems = Collector()
    broken: dict[str, None] = {}
    for extern in (e for e in externs if e.module not in broken):
        with problems.catching():
            functions[extern] = _function(extern, _module(extern, named, source))
        if extern not in functions and extern.module not in sys.modules:
            broken[extern.module] = None
    problems.raise_errors(RunError)
    return functions


def _module(extern: Extern, named: Sequence[str], beside: Sequence[str]) -> ModuleType:
    """Import the module of a function, unless it is ambiguous or another one is loaded."""
    top = extern.module.partition(".")[0]
    if _file(top, named) is None:
        several = {file: None for folder in beside if (file := _file(top, [folder])) is not None}
        if len(several) > 1:
            raise RunError(errors.two_modules(extern.name, top, list(several)))
    loaded, expected = sys.modules.get(top), _file(top, sys.path)
    if loaded is not None and expected is not None and _origin(loaded) != Path(expected):
        raise RunError(errors.other_module(top, extern.name, expected, str(_origin(loaded))))
    return _import(extern, [*named, *(folder for folder in beside if folder not in named)])


def _file(top: str, folders: Sequence[str]) -> str | None:
    """The file of a module in these folders; ``None`` for a namespace package, which has none."""
    spec = PathFinder.find_spec(top, list(folders))
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    return str(Path(spec.origin).resolve())


def _origin(module: ModuleType) -> Path | str:
    """The file of a module that is loaded."""
    spec = vars(module).get("__spec__")
    file = vars(module).get("__file__") or getattr(spec, "origin", None)
    return Path(file).resolve() if isinstance(file, str) and Path(file).exists() else "built in"


def _import(extern: Extern, folders: Sequence[str]) -> ModuleType:
    try:
        return run_user_code(importlib.import_module, extern.module)
    except UserCodeError as error:
        cause = error.__cause__
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing is not None and f"{extern.module}.".startswith(f"{missing}."):
            raise RunError(errors.no_module(extern.name, extern.module, folders)) from None
        raise _broken(extern, error) from None


def _broken(extern: Extern, error: UserCodeError) -> RunError:
    return RunError(errors.broken_module(extern.module, extern.name, error.text, error.trace))


def _function(extern: Extern, module: ModuleType) -> HostFunction:
    """The function, or the method of a class."""
    member: Any = module
    for name in extern.function.split("."):
        owner = member
        try:
            member = run_user_code(_member, owner, name)
            public = [] if member is not None else run_user_code(_functions, owner)
        except UserCodeError as error:
            raise _broken(extern, error) from None
        if member is None:
            raise RunError(errors.no_function(extern.name, extern.module, extern.function, public))
    if not callable(member):
        kind = type(member).__name__
        raise RunError(errors.not_a_function(extern.function, extern.module, extern.name, kind))
    return member  # type: ignore[no-any-return]


def _member(owner: Any, name: str) -> Any:
    return getattr(owner, name, None)


def _functions(owner: Any) -> list[str]:
    """The public functions of a module or class."""
    names = [name for name in dir(owner) if not name.startswith("_")]
    return [name for name in names if callable(getattr(owner, name, None))]
