"""Imports the modules of user functions, each once.

They are searched for in the folders that the user names, then in those of the program's source
files, then on Python's path. Another module of the same name is refused, never used.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from tempoc.diagnostics.diagnostic import Collector, RunError
from tempoc.program.nodes.functions import Extern
from tempoc.runtime.messages import run as errors

HostFunction = Callable[..., Any]


def find_functions(
    externs: Sequence[Extern], paths: Sequence[str | Path], beside: Sequence[str | Path] = ()
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
    loaded = getattr(sys.modules.get(top), "__file__", None)
    expected = _file(top, sys.path)
    if loaded is not None and expected is not None and Path(loaded).resolve() != Path(expected):
        raise RunError(errors.other_module(top, extern.name, expected, loaded))
    return _import(extern, [*named, *(folder for folder in beside if folder not in named)])


def _file(top: str, folders: Sequence[str]) -> str | None:
    """The file of a module in these folders; ``None`` for a namespace package, which has none."""
    spec = PathFinder.find_spec(top, list(folders))
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    return str(Path(spec.origin).resolve())


def _import(extern: Extern, folders: Sequence[str]) -> ModuleType:
    try:
        return importlib.import_module(extern.module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{extern.module}.".startswith(f"{error.name}."):
            raise RunError(errors.no_module(extern.name, extern.module, folders)) from None
        raise _broken(extern, error) from None
    except (Exception, SystemExit) as error:
        raise _broken(extern, error) from None


def _broken(extern: Extern, error: BaseException) -> RunError:
    return RunError(
        errors.broken_module(
            extern.module, extern.name, exception_text(error), user_traceback(error)
        )
    )


def _function(extern: Extern, module: ModuleType) -> HostFunction:
    """The function, or the method of a class."""
    member: Any = module
    for name in extern.function.split("."):
        owner = member
        member = getattr(owner, name, None)
        if member is None:
            callables = [n for n in dir(owner) if callable(getattr(owner, n, None))]
            public = [n for n in callables if not n.startswith("_")]
            raise RunError(errors.no_function(extern.name, extern.module, extern.function, public))
    if not callable(member):
        kind = type(member).__name__
        raise RunError(errors.not_a_function(extern.function, extern.module, extern.name, kind))
    return member  # type: ignore[no-any-return]


# ---------------------------------------------------------------- words


def exception_text(error: BaseException) -> str:
    """``ValueError: boom``, or the bare name of an exception without a text."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def user_traceback(error: BaseException) -> str:
    """Python's traceback without the frames of the runner."""
    lines = traceback.format_exception(type(error), error, _user_frames(error.__traceback__))
    return "".join(lines).rstrip()


def _user_frames(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback after the files of this package and of importlib."""
    library = str(Path(importlib.__file__).parent)
    prefixes = (str(Path(__file__).resolve().parents[1]), "<frozen importlib", library)
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(prefixes):
            break
        trace = trace.tb_next
    return trace
