"""Whether steps may follow each other: what each needs, gives and must come before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tempoc.pipeline.step import PassStep

INPUT = ""


class OrderError(Exception):
    """A step stands at a place where it cannot run; ``message`` says which and why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def check_order(steps: Sequence[PassStep[Any, Any]], holding: tuple[str, ...] = ()) -> None:
    """Raise ``OrderError`` unless each step finds what it needs.

    ``holding`` are the properties of the graph at the start.
    """
    given = dict.fromkeys(holding, INPUT)
    for step in steps:
        for need in step.needs:
            if need not in given:
                raise OrderError(f"`{step.name}` needs {need}, which no earlier pass gives")
        for late in step.before:
            if late in given:
                if given[late] == INPUT:
                    raise OrderError(f"`{step.name}` cannot run on what has {late} already")
                raise OrderError(f"`{step.name}` must come before `{given[late]}`")
        for name in step.gives:
            given[name] = step.name
