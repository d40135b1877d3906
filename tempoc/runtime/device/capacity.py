"""The capacity of growing stores: current slots, and the sizes still to come.

Stores that grow along the same dimension to the same final size form a group and always have the
same capacity, so that kernels are retraced only a few times: a few sizes (`RunTuning`) where the
final one is certain to be reached, otherwise one for each doubling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.tuning import RunTuning
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import evaluate, symbols

CapacityGroup = tuple[str, Expr]
"""The dimension and the final size of growing stores."""
MANY = 1 << 62
"""No limit: more steps than any loop has."""


def groups(program: prog.Program) -> tuple[CapacityGroup, ...]:
    """The groups of growing stores of a program, in order."""
    return tuple(_first_capacities(program))


def _first_capacities(program: prog.Program) -> dict[CapacityGroup, int]:
    axes = (store.growing for store in program.stores)
    return {(axis.dim, axis.size): axis.least for axis in axes if axis}


def group_of(need: prog.CapacityNeed) -> CapacityGroup:
    """The group of stores that a need concerns."""
    return need.dim, need.size


def buckets(full: int, least: int, tuning: RunTuning, *, sure: bool) -> tuple[int, ...]:
    """The sizes in increasing order, up to `full`. `sure`: the run is certain to need `full`."""
    if not sure:
        sizes = [least]
        while sizes[-1] < full:
            sizes.append(2 * sizes[-1])
        return (*sizes[:-1], full)
    count = max(1, min(tuning.store_sizes, full // least))
    grain = min(tuning.store_grain, least)
    step = -(-full // (count * grain)) * grain
    return (*range(step, full, step), full)


def _largest(program: prog.Program) -> set[str]:
    """The names of the largest lengths."""
    return {length.largest for length in program.lengths}


@dataclass(slots=True)
class Capacities:
    """All sizes and the current size by number of the group; frames share `now`."""

    sizes: tuple[tuple[int, ...], ...]
    now: list[int]

    @classmethod
    def of(cls, program: prog.Program, bounds: Mapping[str, int]) -> Capacities:
        """The first sizes."""
        largest = _largest(program)
        sizes = tuple(
            buckets(
                max(1, evaluate(size, bounds)),
                least,
                program.tuning,
                sure=largest.isdisjoint(symbols(size)),
            )
            for (_, size), least in _first_capacities(program).items()
        )
        return cls(sizes, [some[0] for some in sizes])

    def enough(self, group: int, rows: int) -> int:
        """The first size with so many rows, at least the current one."""
        sizes = self.sizes[group]
        return max(self.now[group], next((size for size in sizes if size >= rows), sizes[-1]))

    def steps_left(self, group: int, rows: int) -> int:
        """The consecutive steps before the next growth, if the first one needs so many rows."""
        size = self.enough(group, rows)
        return MANY if size == self.sizes[group][-1] else size - rows + 1
