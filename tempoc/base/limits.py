"""What one compilation may take: beyond a limit, a program is refused, and `--limit` raises it.

Every limit counts something that is the same on every machine, never seconds. Those that cost an
optimization at most, but refuse nothing, are in `effort.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple


class LimitRow(NamedTuple):
    """A row of the table: what is counted, what the limit guards, what raising it costs.

    `highest` is the most that it can be raised to.
    """

    counts: str
    guards: str
    cost: str
    highest: int


def _limit(default: int, counts: str, guards: str, cost: str, highest: int = 10**12) -> Any:
    return field(default=default, metadata={"limit": LimitRow(counts, guards, cost, highest)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a compilation; on the command line `call_depth` is `call-depth`."""

    calls: int = _limit(
        100_000,
        "expanded calls and iterations",
        "functions that call others more than once, loops in loops",
        "time and memory in proportion",
    )
    """Functions are expanded where they are called: 30 that call one another twice are 2**30."""
    call_depth: int = _limit(
        64,
        "calls inside of calls",
        "chains of functions",
        "stack: 1,000 is the most that it can be raised to",
        highest=1000,
    )
    """Far above what people write, far below Python's recursion limit."""
    range_length: int = _limit(
        4096,
        "elements of a `range`",
        "loops and lists, which are unrolled",
        "an operator or more for each element",
    )
    """Long repetitions are dimensions."""
    leaves: int = _limit(
        10_000,
        "tensors in one list or record",
        "lists of lists that hold one another more than once",
        "time and memory in proportion",
    )
    """Lists share their elements, but whatever maps over a list does so leaf by leaf."""
    operators: int = _limit(
        100_000,
        "operators of the program as written",
        "what all equations are expanded to",
        "time and memory in proportion; the scheduler takes more",
    )
    """A language model of 100 layers, unrolled, has about ten thousand."""
    divisions: int = _limit(
        16,
        "different `//` and `%` in one index or condition",
        "guards with many moduli, nested quotients",
        "time that may double with each one",
    )
    """Whether such a condition can hold is as hard as any question about integers."""
    isl_steps: int = _limit(
        100_000_000,
        "steps of the integer solver for one question",
        "guards and indices whose cases multiply",
        "time in proportion: a million steps take up to a second",
    )
    """Schedules and proofs of large programs take up to some million."""

    def __getitem__(self, name: str) -> int:
        """The value of a limit."""
        return int(getattr(self, name))

    def raised(self, values: Mapping[str, int]) -> Limits:
        """These limits with other values for some of them."""
        return replace(self, **values)


LIMITS = Limits()
"""The defaults."""
TABLE: dict[str, LimitRow] = {f.name: f.metadata["limit"] for f in fields(Limits)}
"""The rows by the names of the fields."""


def flag_name(name: str) -> str:
    """The name of a limit on the command line."""
    return name.replace("_", "-")


class LimitReached(Exception):
    """The program takes more than a limit allows."""

    def __init__(self, name: str, most: int) -> None:
        """Carry the name of the limit (a field of `Limits`) and its value."""
        super().__init__(f"the limit {flag_name(name)} ({most}) is reached")
        self.name = name
        self.most = most
