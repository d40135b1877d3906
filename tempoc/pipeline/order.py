"""The order constraints of a pipeline: the properties that passes need, give and must precede."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tempoc.pipeline.step import PassStep

INPUT = ""


class OrderError(Exception):
    """A pass is at a position where it cannot run; ``message`` names it and the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def check_order(steps: Sequence[PassStep[Any, Any]], holding: tuple[str, ...] = ()) -> None:
    """Raise ``OrderError`` unless the properties needed by each pass hold where it runs.

    ``holding`` are the properties of the input graph.
    """
    holder = dict.fromkeys(holding, INPUT)
    for step in steps:
        for need in step.needs:
            if need not in holder:
                raise OrderError(f"`{step.name}` needs {need}, which no earlier pass gives")
        for late in step.before:
            if late in holder:
                if holder[late] == INPUT:
                    raise OrderError(f"`{step.name}` cannot run on what has {late} already")
                raise OrderError(f"`{step.name}` must come before `{holder[late]}`")
        for name in step.gives:
            holder[name] = step.name
