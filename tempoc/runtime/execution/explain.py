"""Errors of kernel calls and user functions, from the position at which a run failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tempoc.diagnostics.diagnostic import Diagnostic, RunError
from tempoc.program.analysis.traversal import kernel_numbers
from tempoc.program.nodes.nodes import Call, Host, Kernel
from tempoc.runtime.device import backend
from tempoc.runtime.device.backend import DeviceArray
from tempoc.runtime.host.externs import underivable, untraceable
from tempoc.runtime.host.failure import ExternFailure, failure, place
from tempoc.runtime.host.user_code import exception_text
from tempoc.runtime.messages import faults, run as errors
from tempoc.runtime.walk.code import KernelCall
from tempoc.runtime.walk.frame import RunFrame
from tempoc.symbolic.walk import evaluate

Fault = tuple[int, object, DeviceArray]
"""The number of a kernel, the coordinates of its call, and what it returned of its checks."""


def explained(
    frame: RunFrame, call: KernelCall | Host | None, values: Mapping[str, int], error: Exception
) -> RunError | None:
    """The error for an exception in a call; ``None`` if the exception has no explanation.

    ``values`` are those of all bounds.
    """
    if isinstance(error, backend.DeviceError):
        reason = str(error).split("\n")[0]
        if call is None or isinstance(call, Host):
            return RunError(errors.device_failed(reason))
        kernel = kernel_named(frame, call.kernel)
        return RunError(errors.kernel_failed(kernel.name, reason, kernel.equations))
    if isinstance(call, Call) and (store := next(_unwritten(frame, call), "")):
        return RunError(errors.never_written(store, ""))
    if call is None or isinstance(call, Host):
        return None
    kernel = kernel_named(frame, call.kernel)
    if not isinstance(error, ExternFailure):
        derived = [e for e in frame.program.externs if e.alias in kernel.derives]
        traced = [e for e in frame.program.externs if not e.host]
        if derived:
            error = underivable(derived, error)
        elif traced and isinstance(error, backend.TraceError):
            error = untraceable(traced, error)
        else:
            # Traced with other arrays than it was written for, or not what was written.
            reason = exception_text(error)
            return RunError(errors.kernel_failed(kernel.name, reason, (), errors.AGAIN))
    if not isinstance(call, Call):
        return failure(error, (), (), kernel.equations)
    scope = {**values, **{n: v for n, v in frame.variables.items() if isinstance(v, int)}}
    point = [evaluate(e, scope) for e in call.point]
    return failure(error, *full_point(frame, kernel, point), kernel.equations)


def kernel_named(frame: RunFrame, name: str) -> Kernel:
    """The kernel of a program by name."""
    return frame.program.kernels[kernel_numbers(frame.program)[name]]


def _unwritten(frame: RunFrame, call: Call) -> Iterator[str]:
    """The stores of arguments that have no cell."""
    numbers = {store.name: number for number, store in enumerate(frame.layouts)}
    for cell in call.args:
        if cell.when is None and frame.cells[numbers[cell.store]] is None:
            yield cell.store


def failed_check(frame: RunFrame, fault: Fault) -> Diagnostic | None:
    """The problem if a check of a call failed; waits for the call."""
    number, point, returned = fault
    failed, *lane = np.ravel(backend.host(returned)).tolist()
    if point is None:  # a region: the fault holds kernel, fault and point itself
        number, failed, first, *point = failed, *lane
        lane = [first] * bool(frame.program.kernels[number].vector)
    if not failed:
        return None
    kernel = frame.program.kernels[number]
    at = full_point(frame, kernel, np.asarray(point).tolist(), *lane)
    message = faults.message(kernel.checks, failed, frame.bounds)
    return errors.check_failed(message, place(*at), kernel.equations)


def full_point(
    frame: RunFrame, kernel: Kernel, point: Sequence[int], lane: int = 0
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The dimensions and coordinates of a point of a call, vectorized ones included.

    ``lane`` is the index among the points that the kernel computes at once.
    """
    coordinates = dict(zip(kernel.dims, point, strict=False))  # lengths may follow
    for r in reversed(kernel.vector):
        low, high = evaluate(r.lower, frame.bounds), evaluate(r.upper, frame.bounds)
        lane, step = divmod(lane, max(1, high - low))
        coordinates[r.dim] = low + step
    dims = tuple(d for d, _ in frame.program.dims if d in coordinates)
    return dims, tuple(coordinates[d] for d in dims)
