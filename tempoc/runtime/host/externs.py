"""Calls user functions in Python and checks their results.

An exception inside becomes `ExternFailure`; the machine adds the point and reports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes.functions import ArrayType, Extern
from tempoc.runtime.data.dtypes import NUMPY, described
from tempoc.runtime.device import backend
from tempoc.runtime.host.imports import HostFunction, exception_text, user_traceback
from tempoc.runtime.host.trees import TreeMismatch, heads, packed, unpacked
from tempoc.runtime.messages import run as errors
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate

FLOATS = ("bf16", "f16", "f32", "f64")
WIDE = ("i64", "f64")


class ExternFailure(Exception):
    """A user function raised, or its result does not have the declared type.

    ``trace`` is the traceback of an exception, empty for a wrong result; ``help`` is a hint.
    """

    def __init__(self, extern: str, reason: str, trace: str = "", help: str | None = None) -> None:
        super().__init__(reason)
        self.extern = extern
        self.what = reason
        self.trace = trace
        self.help = help


@dataclass(slots=True, eq=False)
class TracedExtern:
    """A function of JAX arrays as kernels call it: its results are checked when JAX traces.

    ``bounds`` must be set before the first call.
    """

    extern: Extern
    function: HostFunction
    bounds: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, *args: Any) -> Any:
        """The result, or the tuple of results. Raises `ExternFailure`."""
        results = invoke(self.extern, self.function, args)
        types = expected(self.extern, [a.shape for a in args], self.bounds)
        arrays = []
        for type_, value, (dtype, shape) in zip(self.extern.results, results, types, strict=True):
            array = _array(self.extern, type_, value)
            check(self.extern, type_, array, dtype, shape)
            arrays.append(array)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


def underivable(externs: Sequence[Extern], error: Exception) -> ExternFailure:
    """The failure for a function that JAX cannot differentiate: one of these."""
    name = " or ".join(extern.name for extern in externs)
    reason = f"{name} cannot be differentiated: {exception_text(error).rstrip('.')}"
    help = "put stop_gradient around what it gives, or define its derivative with jax.custom_vjp"
    return ExternFailure(name, reason, help=help)


def failure(
    error: ExternFailure, dims: Sequence[str], point: Sequence[int], equations: Sequence[str]
) -> RunError:
    """The diagnostic for a function that failed in the call at a point."""
    point_text = place(dims, point)
    if error.trace:
        raised = errors.extern_raised(error.extern, error.what, error.trace, point_text, equations)
        return RunError(raised)
    return RunError(errors.extern_broke(error.what, point_text, equations, error.help))


def place(dims: Sequence[str], point: Sequence[int]) -> str:
    """``b = 0, t = 3``, or bare numbers where the dimensions have no names."""
    if len(dims) != len(point):
        return ", ".join(map(str, point))
    return ", ".join(f"{d} = {i}" for d, i in zip(dims, point, strict=True))


def _array(extern: Extern, type_: ArrayType, value: Any) -> Any:
    try:
        return backend.as_array(value)
    except (TypeError, ValueError, OverflowError):
        raise ExternFailure(extern.name, not_an_array(extern, type_, value)) from None


def not_an_array(extern: Extern, type_: ArrayType, value: Any) -> str:
    """The text for a result that is not an array."""
    return f"{result_text(extern, type_)} is {type(value).__name__}, not an array"


def result_text(extern: Extern, type_: ArrayType) -> str:
    """The words for a result in messages."""
    return f"result {type_.name} of {extern.name}"


def invoke(extern: Extern, function: HostFunction, args: Sequence[Any]) -> list[Any]:
    """Call a user function and flatten its results. Raises `ExternFailure` for a wrong number."""
    packed_args = packed(extern.arguments, args)
    try:
        result = function(*packed_args)
    except (Exception, SystemExit) as error:
        raise ExternFailure(extern.name, exception_text(error), user_traceback(error)) from error
    count = len(heads(extern.results))
    if count == 0:
        return []
    if count == 1:
        result = (result,)
    elif not isinstance(result, tuple | list):
        kind = "one array" if hasattr(result, "shape") else type(result).__name__
        reason = f"{extern.name} gives {kind}, expected a tuple of {count} results"
        raise ExternFailure(extern.name, reason)
    if len(result) != count:
        raise ExternFailure(
            extern.name, f"{extern.name} gives {len(result)} results, expected {count}"
        )
    try:
        return unpacked(extern.results, result)
    except TreeMismatch as error:
        reason = f"result {error.name} of {extern.name} {error.why}"
        raise ExternFailure(extern.name, reason) from None


def expected(
    extern: Extern, shapes: Sequence[tuple[int, ...]], names: Mapping[str, int]
) -> list[tuple[str, tuple[int, ...]]]:
    """Dtype and shape of each result for arguments of these shapes; ``names`` are other names."""
    values = dict(names)
    for type_, shape in zip(extern.arguments, shapes, strict=True):
        for e, extent in zip(type_.shape, shape, strict=True):
            if isinstance(e, ix.Sym) and e.name in extern.free:
                values[e.name] = extent
    return [(t.dtype, tuple(evaluate(e, values) for e in t.shape)) for t in extern.results]


def check(extern: Extern, type_: ArrayType, array: Any, dtype: str, shape: tuple[int, ...]) -> None:
    """Whether a result is of the type promised. Raises `ExternFailure`."""
    result = result_text(extern, type_)
    if tuple(array.shape) != shape:
        reason = f"{result} has shape {errors.axes(array.shape)}, expected {errors.axes(shape)}"
        raise ExternFailure(extern.name, reason)
    if np.dtype(array.dtype) != NUMPY[dtype]:
        reason = f"{result} has dtype {described(array.dtype)}, expected {dtype}"
        dtype_name = NUMPY[dtype].name
        raise ExternFailure(
            extern.name, reason, help=f"nothing is cast: make it {dtype_name} in the function"
        )
