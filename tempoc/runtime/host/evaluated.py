"""User functions of host arrays, as the reference evaluator calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.device import backend
from tempoc.runtime.device.inspection import vjp_function
from tempoc.runtime.host.externs import TracedExtern, underivable
from tempoc.runtime.host.failure import ExternFailure
from tempoc.runtime.host.host_calls import HostCallable
from tempoc.runtime.host.imports import HostFunction
from tempoc.runtime.host.results import FLOATS

_WIDE = ("i64", "f64")


def evaluated(function: TracedExtern, args: Sequence[HostArray]) -> tuple[HostArray, ...]:
    """The results for host arrays, as host arrays. Raises `ExternFailure`."""
    types = (*function.extern.arguments, *function.extern.results)
    with backend.session(any(t.dtype in _WIDE for t in types)):
        pairs = zip(function.extern.arguments, args, strict=True)
        result = backend.precise(function)(*(backend.put(a, t.dtype) for t, a in pairs))
        results = result if isinstance(result, tuple) else (result,)
        return tuple(np.array(backend.host(array)) for array in results)


def evaluated_vjp(
    function: TracedExtern, counts: Sequence[int], args: Sequence[HostArray]
) -> tuple[HostArray, ...]:
    """The cotangents of float operands, for all operands and the cotangents of float results.

    ``counts`` says how many operands the function has, then its derivatives before this one.
    Raises `ExternFailure`.
    """
    extern = function.extern
    operands = [t.dtype for t in extern.arguments]
    results = [t.dtype for t in extern.results if t.dtype in FLOATS]
    for _ in counts:
        operands, results = operands + results, [d for d in operands if d in FLOATS]
    with backend.session(any(dtype in _WIDE for dtype in operands)):
        arrays = [backend.put(a, dtype) for dtype, a in zip(operands, args, strict=True)]
        derived: HostFunction = function
        for count in counts:
            derived = vjp_function(derived, count)
        try:
            cotangents = backend.precise(derived)(*arrays)
        except ExternFailure:
            raise
        except Exception as error:
            raise underivable([extern], error) from error
        return tuple(np.array(backend.host(array)) for array in cotangents)


def call_copied(
    host: HostCallable, args: Sequence[HostArray], values: Mapping[str, int]
) -> tuple[HostArray, ...]:
    """Call with copies of the arrays, in the declared dtypes. Raises `ExternFailure`."""
    pairs = zip(host.extern.arguments, args, strict=True)
    return host.call([np.array(a, NUMPY[t.dtype]) for t, a in pairs], values)
