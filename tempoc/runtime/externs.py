"""The user's Python functions: found, called, their results checked.

An exception inside becomes `Failed`, which the machine turns into a diagnostic with the point.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from tempoc.program.arith import Arith, evaluate
from tempoc.program.nodes import ArrayType, Extern
from tempoc.runtime import backend, errors
from tempoc.runtime.dtypes import NUMPY, Array, described
from tempoc.runtime.problems import Problem, RunError

Function = Callable[..., Any]
FLOATS = ("bf16", "f16", "f32", "f64")
WIDE = ("i64", "f64")


class Failed(Exception):
    """A Python function raised, or gave back something else than it promised.

    ``trace`` is Python's own report of an exception, empty for a promise that was broken.
    """

    def __init__(self, extern: str, what: str, trace: str = "") -> None:
        super().__init__(what)
        self.extern = extern
        self.what = what
        self.trace = trace


def find(externs: Sequence[Extern], paths: Sequence[str | Path]) -> dict[Extern, Function]:
    """The functions, whose modules are imported once.

    The folders are looked through before everything else that Python knows, in their order.
    Raises `RunError` with all that cannot be found.
    """
    folders = [str(Path(p).resolve()) for p in paths] if externs else []
    sys.path[:] = [*dict.fromkeys(folders), *(p for p in sys.path if p not in folders)]
    found: dict[Extern, Function] = {}
    problems: list[Problem] = []
    for extern in externs:
        try:
            found[extern] = _find(extern, folders)
        except RunError as error:
            problems += error.problems
    if problems:
        raise RunError(*problems)
    return found


def _find(extern: Extern, folders: Sequence[str]) -> Function:
    try:
        module = importlib.import_module(extern.module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{extern.module}.".startswith(f"{error.name}."):
            raise RunError(errors.no_module(extern.name, extern.module, folders)) from None
        raise RunError(_broken(extern, error)) from None
    except Exception as error:
        raise RunError(_broken(extern, error)) from None
    function = getattr(module, extern.function, None)
    if not callable(function):
        known = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise RunError(errors.no_function(extern.name, extern.module, extern.function, known))
    return function  # type: ignore[no-any-return]


def _broken(extern: Extern, error: Exception) -> Problem:
    what = f"{type(error).__name__}: {error}"
    return errors.broken_module(extern.name, extern.module, what, report(error))


def report(error: BaseException) -> str:
    """Python's traceback from the user's code on: what lies before it is ours."""
    lines = traceback.format_exception(type(error), error, _inside(error.__traceback__))
    return "".join(lines).rstrip()


def _inside(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback after the files of this package and of importlib."""
    own = (str(Path(__file__).resolve().parent), "<frozen importlib")
    while trace is not None and trace.tb_next is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith(own) and not name.startswith(str(Path(importlib.__file__).parent)):
            break
        trace = trace.tb_next
    return trace


@dataclass(slots=True, eq=False)
class Traced:
    """A function of JAX arrays as kernels call it: its results are checked when JAX traces.

    ``bounds`` must be set before the first call.
    """

    extern: Extern
    function: Function
    bounds: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, *args: Any) -> Any:
        """The result, or the tuple of results. Raises `Failed`."""
        found = invoke(self.extern, self.function, args)
        wanted = expected(self.extern, [a.shape for a in args], self.bounds)
        arrays = []
        for k, (value, (dtype, shape)) in enumerate(zip(found, wanted, strict=True)):
            array = _array(self.extern, k, value)
            check(self.extern, k, array, dtype, shape)
            arrays.append(array)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


@dataclass(slots=True, eq=False)
class Hosted:
    """Any Python as the runner calls it, with NumPy arrays in and out.

    They are private copies both ways: devices read memory late, and the user's code may keep what
    it gets and reuse what it gave. ``bounds`` must be set before the first call.
    """

    extern: Extern
    function: Function
    bounds: Mapping[str, int] = field(default_factory=dict)

    def at(
        self,
        dims: Sequence[str],
        equations: Sequence[str],
        point: Sequence[int],
        *args: backend.DeviceArray,
    ) -> list[backend.DeviceArray]:
        """Call with arrays of the device, for the equations at a point. Raises `RunError`."""
        try:
            found = self.call([np.array(backend.host(a)) for a in args])
        except Failed as error:
            raise failure(error, dims, point, equations) from error
        types = self.extern.results
        return [backend.put(a, t.dtype) for a, t in zip(found, types, strict=True)]

    def given(self, args: Sequence[Array]) -> tuple[Array, ...]:
        """Call with arrays of other precision, or that others have too. Raises `Failed`."""
        pairs = zip(self.extern.arguments, args, strict=True)
        return self.call([np.array(a, NUMPY[t.dtype]) for t, a in pairs])

    def call(self, args: Sequence[Array]) -> tuple[Array, ...]:
        """The results for arguments that the function may keep. Raises `Failed`."""
        wanted = expected(self.extern, [a.shape for a in args], self.bounds)
        found = invoke(self.extern, self.function, args)
        arrays = []
        for k, (value, (dtype, shape)) in enumerate(zip(found, wanted, strict=True)):
            array = _host_array(value, dtype)
            check(self.extern, k, array, dtype, shape)
            arrays.append(array)
        return tuple(arrays)


def _host_array(value: Any, dtype: str) -> Array:
    """A result as an array; Python's own numbers take the dtype that is wanted."""
    kinds: dict[type, str] = {bool: "b", int: "iu", float: "f"}
    wanted = NUMPY[dtype]
    kind = "f" if dtype in FLOATS else wanted.kind
    if type(value) in kinds and kind in kinds[type(value)]:
        return np.array(value, wanted)
    return np.array(value)


def evaluated(function: Traced, args: Sequence[Array]) -> tuple[Array, ...]:
    """The results for host arrays, as host arrays. Raises `Failed`."""
    types = (*function.extern.arguments, *function.extern.results)
    with backend.session(any(t.dtype in WIDE for t in types)):
        pairs = zip(function.extern.arguments, args, strict=True)
        found = function(*(backend.put(a, t.dtype) for t, a in pairs))
        several = found if isinstance(found, tuple) else (found,)
        return tuple(np.array(backend.host(array)) for array in several)


def evaluated_back(
    function: Traced, counts: Sequence[int], args: Sequence[Array]
) -> tuple[Array, ...]:
    """The cotangents of float operands, for all operands and the cotangents of float results.

    ``counts`` says how many operands the function has, then its derivatives before this one.
    Raises `Failed`.
    """
    extern = function.extern
    operands = [t.dtype for t in extern.arguments]
    results = [t.dtype for t in extern.results if t.dtype in FLOATS]
    for _ in counts:
        operands, results = operands + results, [d for d in operands if d in FLOATS]
    with backend.session(any(dtype in WIDE for dtype in operands)):
        arrays = [backend.put(a, dtype) for dtype, a in zip(operands, args, strict=True)]
        derived: Function = function
        for count in counts:
            derived = backend.pulled_back(derived, count)
        return tuple(np.array(backend.host(array)) for array in derived(*arrays))


def failure(
    error: Failed, dims: Sequence[str], point: Sequence[int], equations: Sequence[str]
) -> RunError:
    """The diagnostic for a function that failed in the call at a point."""
    at = place(dims, point)
    if error.trace:
        raised = errors.extern_raised(error.extern, error.what, error.trace, at, equations)
        return RunError(raised)
    return RunError(errors.extern_broke(error.what, at, equations))


def place(dims: Sequence[str], point: Sequence[int]) -> str:
    """``b = 0, t = 3``, or bare numbers where the dimensions have no names."""
    if len(dims) != len(point):
        return ", ".join(map(str, point))
    return ", ".join(f"{d} = {i}" for d, i in zip(dims, point, strict=True))


def _array(extern: Extern, k: int, value: Any) -> Any:
    try:
        return backend.as_array(value)
    except (TypeError, ValueError):
        what = f"result {k + 1} of {extern.name} is {type(value).__name__}, not an array"
        raise Failed(extern.name, what) from None


def invoke(extern: Extern, function: Function, args: Sequence[Any]) -> tuple[Any, ...]:
    """Call the user's function; as many results as it promises. Raises `Failed`."""
    try:
        found = function(*args)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise Failed(extern.name, what, report(error)) from error
    count = len(extern.results)
    if count == 1:
        return (found,)
    if not isinstance(found, tuple | list):
        one = "one array" if hasattr(found, "shape") else type(found).__name__
        what = f"{extern.name} gives {one}, expected a tuple of {count} results"
        raise Failed(extern.name, what)
    if len(found) != count:
        raise Failed(extern.name, f"{extern.name} gives {len(found)} results, expected {count}")
    return tuple(found)


def expected(
    extern: Extern, shapes: Sequence[tuple[int, ...]], bounds: Mapping[str, int]
) -> list[tuple[str, tuple[int, ...]]]:
    """Dtype and shape of each result for arguments of these shapes."""
    known = dict(bounds)
    for type_, shape in zip(extern.arguments, shapes, strict=True):
        for e, extent in zip(type_.shape, shape, strict=True):
            if isinstance(e, str) and e in extern.free:
                known[e] = extent
    return [(t.dtype, _shape(t, known)) for t in extern.results]


def _shape(type_: ArrayType, known: Mapping[str, int]) -> tuple[int, ...]:
    extents: tuple[Arith, ...] = type_.shape
    return tuple(evaluate(e, known) for e in extents)


def check(extern: Extern, k: int, array: Any, dtype: str, shape: tuple[int, ...]) -> None:
    """Whether a result is of the type promised. Raises `Failed`."""
    which = f"result {k + 1} of {extern.name}" if len(extern.results) > 1 else extern.name
    verb = "has" if len(extern.results) > 1 else "gives"
    if tuple(array.shape) != shape:
        what = f"{which} {verb} shape {errors.axes(array.shape)}, expected {errors.axes(shape)}"
        raise Failed(extern.name, what)
    if np.dtype(array.dtype) != NUMPY[dtype]:
        what = f"{which} {verb} dtype {described(array.dtype)}, expected {dtype}"
        raise Failed(extern.name, what)
