"""Stores that grow: how many slots they have by now, and how many they will have next.

All stores that grow along one dimension to one size have as many slots at any time, so that kernels
are traced again only a few times: `BUCKETS` where the last size is sure to be reached, else once
for each doubling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.program.nodes.arithmetic import Arith, evaluate, names
from tempoc.program.nodes.nodes import CapacityNeed, Program

BUCKETS = 5
"""How many sizes stores have at most, where the run is sure to get to its end.

With 5 steps read 0.6 of the last size on average, with 8 of them 0.56, with any number half of it;
each size is another compilation of the loop.
"""
_GRAIN = 64

CapacityGroup = tuple[str, Arith]
"""A dimension and the last size: what tells growing stores apart."""
MANY = 1 << 62
"""More steps than any loop has."""


def groups(program: Program) -> tuple[CapacityGroup, ...]:
    """The groups of stores of a program, in order."""
    axes = ((a.dim, a.size) for s in program.stores for a in s.axes if a.least)
    return tuple(dict.fromkeys(axes))


def group_of(need: CapacityNeed) -> CapacityGroup:
    """The stores that a need is about."""
    return need.dim, need.size


def buckets(full: int, least: int, *, sure: bool) -> tuple[int, ...]:
    """The sizes, one after the other; the last is `full`. `sure`: the run will need that."""
    if not sure:
        sizes = [least]
        while sizes[-1] < full:
            sizes.append(2 * sizes[-1])
        return (*sizes[:-1], full)
    count = max(1, min(BUCKETS, full // least))
    grain = min(_GRAIN, least)
    step = -(-full // (count * grain)) * grain
    return (*range(step, full, step), full)


def may_stay_small(program: Program, bounds: Mapping[str, int]) -> frozenset[str]:
    """The stores that grow, if the run turns out to be long enough, but may never have to."""
    sizes = dict(zip(groups(program), Capacities.of(program, bounds).sizes, strict=True))
    largest = _largest(program)
    return frozenset(
        s.name
        for s in program.stores
        for a in s.axes
        if a.least and len(sizes[a.dim, a.size]) > 1 and not largest.isdisjoint(names(a.size))
    )


def _largest(program: Program) -> set[str]:
    """The names of the largest lengths."""
    return {length.largest for length in program.lengths}


@dataclass(slots=True)
class Capacities:
    """The sizes by now, by number of the group: `now` is looked at by the walk, too."""

    sizes: tuple[tuple[int, ...], ...]
    now: list[int]

    @classmethod
    def of(cls, program: Program, bounds: Mapping[str, int]) -> Capacities:
        """The first sizes."""
        largest = _largest(program)
        least = {(a.dim, a.size): a.least for s in program.stores for a in s.axes if a.least}
        sizes = tuple(
            buckets(
                max(1, evaluate(size, bounds)),
                least[dim, size],
                sure=largest.isdisjoint(names(size)),
            )
            for dim, size in groups(program)
        )
        return cls(sizes, [some[0] for some in sizes])

    def enough(self, group: int, rows: int) -> int:
        """The size that has so many rows; never less than there are by now."""
        sizes = self.sizes[group]
        return max(self.now[group], next((size for size in sizes if size >= rows), sizes[-1]))

    def steps_left(self, group: int, rows: int) -> int:
        """How many steps may follow each other from one on that needs so many rows."""
        size = self.enough(group, rows)
        return MANY if size == self.sizes[group][-1] else size - rows + 1
