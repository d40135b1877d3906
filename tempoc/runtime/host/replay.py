"""Replays the host calls of a run for a second evaluation of the same program.

The outside has changed since: calling an environment again would give other results.
"""

from __future__ import annotations

from collections.abc import Sequence

from tempoc.program.nodes.functions import Extern
from tempoc.runtime.data.compare import differences
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.host.failure import place
from tempoc.runtime.host.host_calls import RecordedCalls


class Diverged(Exception):
    """The next recorded call is not the one that is made; the text names both."""


class ReplayedCalls:
    """The calls of a run, each module's in order; ``found`` collects arguments that differ."""

    def __init__(self, record: RecordedCalls) -> None:
        self.pending = {module: list(reversed(calls)) for module, calls in record.items()}
        self.differing: list[str] = []

    def call(
        self, extern: Extern, dims: Sequence[str], point: tuple[int, ...], args: Sequence[HostArray]
    ) -> tuple[HostArray, ...]:
        """The results of the next call into the module. Raises `Diverged`."""
        calls = self.pending.get(extern.module, [])
        shown = _shown(extern.name, place(dims, point))
        if not calls:
            raise Diverged(f"the run did not make the call of {shown}")
        recorded = calls.pop()
        if (recorded.extern, recorded.point) != (extern.name, point):
            recorded_text = _shown(recorded.extern, place(dims, recorded.point))
            raise Diverged(f"the run called {recorded_text} before {shown}")
        for type_, actual, expected in zip(extern.arguments, recorded.args, args, strict=True):
            name = f"argument {type_.name} of {shown}"
            self.differing += differences(
                {name: actual}, {name: expected.astype(actual.dtype, copy=False)}
            )
        return recorded.results

    def unmade(self) -> list[str]:
        """A line for each module with recorded calls that were not replayed."""
        return [
            f"the run called {_shown(calls[-1].extern, place((), calls[-1].point))} once too often"
            for calls in self.pending.values()
            if calls
        ]


def _shown(name: str, point: str) -> str:
    return f"{name} at {point}" if point else name
