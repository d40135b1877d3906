"""Calls user functions in Python and checks their results.

An exception inside becomes `ExternFailure`; the machine adds the point and reports it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tempoc.program.nodes.functions import Extern
from tempoc.runtime.host.failure import ExternFailure, function_text
from tempoc.runtime.host.imports import HostFunction
from tempoc.runtime.host.results import traced_result
from tempoc.runtime.host.trees import TreeMismatch, heads, packed, unpacked
from tempoc.runtime.host.user_code import UserCodeError, exception_text, run_user_code
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


@dataclass(slots=True, eq=False)
class TracedExtern:
    """A function of JAX arrays as kernels call it: its results are checked when JAX traces.

    ``bounds`` must be set before the first call.
    """

    extern: Extern
    function: HostFunction
    bounds: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, *args: Any, **given: Any) -> Any:
        """The result, or the tuple of results; ``given`` are numbers. Raises `ExternFailure`."""
        function = functools.partial(self.function, **given) if given else self.function
        results = invoke(self.extern, function, args)
        shapes = result_shapes(self.extern, [a.shape for a in args], self.bounds)
        values = zip(self.extern.results, results, shapes, strict=True)
        arrays = [traced_result(self.extern, t, value, shape) for t, value, shape in values]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


def underivable(externs: Sequence[Extern], error: Exception) -> ExternFailure:
    """The failure for a function that JAX cannot differentiate: one of these."""
    name = " or ".join(extern.name for extern in externs)
    reason = f"{name} cannot be differentiated: {exception_text(error).rstrip('.')}"
    help = "put stop_gradient around what it gives, or define its derivative with jax.custom_vjp"
    return ExternFailure(name, reason, help=help)


def untraceable(externs: Sequence[Extern], error: Exception) -> ExternFailure:
    """The failure for a kernel that JAX cannot trace because of what these functions gave."""
    names = " and ".join(function_text(extern) for extern in externs)
    reason = f"JAX cannot trace what {names} gave: {exception_text(error).rstrip('.')}"
    help = "a function of JAX arrays gives what it computes of its arguments, and keeps nothing"
    return ExternFailure(names, reason, help=help)


def invoke(extern: Extern, function: HostFunction, args: Sequence[Any]) -> list[Any]:
    """Call a user function and flatten its results. Raises `ExternFailure` for a wrong number."""
    packed_args = packed(extern.arguments, args)
    try:
        result = run_user_code(function, *packed_args)
    except UserCodeError as error:
        raise ExternFailure(function_text(extern), error.text, error.trace) from error
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


def result_shapes(
    extern: Extern, shapes: Sequence[tuple[int, ...]], names: Mapping[str, int]
) -> list[tuple[int, ...]]:
    """The shape of each result for arguments of these shapes; ``names`` are other names."""
    values = dict(names)
    for type_, shape in zip(extern.arguments, shapes, strict=True):
        for e, extent in zip(type_.shape, shape, strict=True):
            if isinstance(e, ix.Sym) and e.name in extern.free:
                values[e.name] = extent
    return [tuple(evaluate(e, values) for e in t.shape) for t in extern.results]
