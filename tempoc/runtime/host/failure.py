"""Failures of user functions, before and after it is known at which point they happened."""

from __future__ import annotations

from collections.abc import Sequence

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes.functions import ArrayType, Extern
from tempoc.runtime.host.user_code import exception_text, user_traceback
from tempoc.runtime.messages import run as errors


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


def raised(extern: Extern, error: BaseException) -> ExternFailure:
    """The failure for an exception in code of the user's."""
    return ExternFailure(function_text(extern), exception_text(error), user_traceback(error))


def function_text(extern: Extern) -> str:
    """A function as the program calls it, and what it is in Python."""
    return f"{extern.name} ({extern.module}:{extern.function})"


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


def result_text(extern: Extern, type_: ArrayType) -> str:
    """The words for a result in messages."""
    return f"result {type_.name} of {extern.name}"
