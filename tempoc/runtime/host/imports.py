"""The modules of the user's Python functions: found, imported once, searched for the functions.

Folders that were named come first, then those of the program's own files, then everything else
that Python knows. A module that is not the one to be expected is refused, never used.
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

from tempoc.program.nodes.functions import Extern
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.problem import Problem, RunError

HostFunction = Callable[..., Any]


def find(
    externs: Sequence[Extern], paths: Sequence[str | Path], beside: Sequence[str | Path] = ()
) -> dict[Extern, HostFunction]:
    """The functions, whose modules are imported once.

    ``paths`` are the folders that were named, ``beside`` those of the program's own files. Raises
    `RunError` with all that cannot be found.
    """
    if not externs:
        return {}
    named, own = ([str(Path(p).resolve()) for p in folders] for folders in (paths, beside))
    folders = list(dict.fromkeys((*named, *own)))
    sys.path[:] = [*folders, *(p for p in sys.path if p not in folders)]
    importlib.invalidate_caches()
    found: dict[Extern, HostFunction] = {}
    problems: list[Problem] = []
    broken: dict[str, None] = {}
    for extern in (e for e in externs if e.module not in broken):
        try:
            found[extern] = _function(extern, _module(extern, named, own))
        except RunError as error:
            problems += error.problems
            if extern.module not in sys.modules:
                broken[extern.module] = None
    if problems:
        raise RunError(*problems)
    return found


def _module(extern: Extern, named: Sequence[str], own: Sequence[str]) -> ModuleType:
    """The module of a function, unless there are two, or another is in use already."""
    top = extern.module.partition(".")[0]
    if _file(top, named) is None:
        several = {file: None for folder in own if (file := _file(top, [folder])) is not None}
        if len(several) > 1:
            raise RunError(errors.two_modules(extern.name, top, list(several)))
    loaded = getattr(sys.modules.get(top), "__file__", None)
    wanted = _file(top, sys.path)
    if loaded is not None and wanted is not None and Path(loaded).resolve() != Path(wanted):
        raise RunError(errors.other_module(extern.name, top, wanted, loaded))
    return _import(extern, [*named, *(folder for folder in own if folder not in named)])


def _file(top: str, folders: Sequence[str]) -> str | None:
    """The file of a module in these folders; a package without one is spread over many."""
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
    return RunError(errors.broken_module(extern.name, extern.module, told(error), report(error)))


def _function(extern: Extern, module: ModuleType) -> HostFunction:
    """The function, or the method of a class."""
    found: Any = module
    for name in extern.function.split("."):
        inside = found
        found = getattr(inside, name, None)
        if found is None:
            known = [n for n in dir(inside) if callable(getattr(inside, n, None))]
            public = [n for n in known if not n.startswith("_")]
            raise RunError(errors.no_function(extern.name, extern.module, extern.function, public))
    if not callable(found):
        kind = type(found).__name__
        raise RunError(errors.not_a_function(extern.name, extern.module, extern.function, kind))
    return found  # type: ignore[no-any-return]


# ---------------------------------------------------------------- words


def told(error: BaseException) -> str:
    """``ValueError: boom``, or the bare name of an exception without a text."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def report(error: BaseException) -> str:
    """Python's traceback from the user's code on: what lies before it is ours."""
    lines = traceback.format_exception(type(error), error, _inside(error.__traceback__))
    return "".join(lines).rstrip()


def _inside(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback after the files of this package and of importlib."""
    own = (str(Path(__file__).resolve().parents[1]), "<frozen importlib")
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith(own) and not name.startswith(str(Path(importlib.__file__).parent)):
            break
        trace = trace.tb_next
    return trace
