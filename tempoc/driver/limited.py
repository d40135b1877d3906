"""Stages of a compilation under its limits."""

from collections.abc import Callable
from typing import TypeVar

from tempoc.base.limits import Limits
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.frontend.errors.limits import reached
from tempoc.poly.relations.sets import limit_of

R = TypeVar("R")


def limited(limits: Limits, stage: Callable[[], R]) -> R:
    """The result of a stage; a limit that it reaches, and that no equation is to blame for, is a
    `DiagnosticError` like any other.
    """
    try:
        return stage()
    except DiagnosticError:
        raise
    except Exception as error:
        limit = limit_of(error, limits)
        if limit is None:
            raise
        raise DiagnosticError(reached(limit)) from None
