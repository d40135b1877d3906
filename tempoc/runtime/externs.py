"""The user's Python functions: called, their results checked.

An exception inside becomes `Failed`, which the machine turns into a diagnostic with the point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tempoc.program.arith import Arith, evaluate
from tempoc.program.nodes import ArrayType, Extern
from tempoc.runtime import backend, errors
from tempoc.runtime.dtypes import NUMPY, Array, described
from tempoc.runtime.imports import Function, report, told
from tempoc.runtime.problems import RunError

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


def evaluated_back(function: Traced, args: Sequence[Array]) -> tuple[Array, ...]:
    """The cotangents of float arguments, for arguments and those of float results."""
    extern = function.extern
    types = (*extern.arguments, *(t for t in extern.results if t.dtype in FLOATS))
    with backend.session(any(t.dtype in WIDE for t in types)):
        arrays = [backend.put(a, t.dtype) for t, a in zip(types, args, strict=True)]
        count = len(extern.arguments)
        found = backend.pulled_back(function, arrays[:count], arrays[count:])
        return tuple(np.array(backend.host(array)) for array in found)


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
    except (Exception, SystemExit) as error:
        raise Failed(extern.name, told(error), report(error)) from error
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
