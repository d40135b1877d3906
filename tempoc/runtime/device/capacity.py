"""The capacity of growing stores: current slots, and the sizes still to come.

Stores that grow along the same dimension to the same final size form a group and always have the
same capacity, so that kernels are retraced only a few times: a few sizes (`RunTuning`) where the
final one is certain to be reached, otherwise one for each doubling.

The sizes come from a ladder that is the same for all runs, so that runs of other lengths find most
kernels compiled. The final one is rounded up, too: to a power of two where that adds at most an
eighth to the bytes that the run is given and keeps, or few, else to the coarsest part of one that
does. A program that was compiled for a budget, or with a kernel that takes the final size from its
bounds, has exactly that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tempoc.program.analysis.traversal import blocks, calls
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import BUDGET
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.data.dtypes import NUMPY
from tempoc.symbolic.expr import Const, Expr, Sym
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
    return {(axis.dim, axis.size): axis.least or MANY for axis in axes if axis}


def group_of(need: prog.CapacityNeed) -> CapacityGroup:
    """The group of stores that a need concerns."""
    return need.dim, need.size


def buckets(full: int, least: int, tuning: RunTuning, *, sure: bool) -> tuple[int, ...]:
    """The sizes in increasing order, up to `full`. `sure`: the run is certain to need `full`.

    All but that are ``least`` times a power of two, or multiples of one of these.
    """
    if not sure:
        sizes = [least]
        while sizes[-1] < full:
            sizes.append(2 * sizes[-1])
        return (*sizes[:-1], full)
    count = max(1, min(tuning.store_sizes, full // least))
    step = least
    while step * count < full:
        step *= 2
    return (*range(step, full, step), full)


def rounded(full: int, more: int, tuning: RunTuning, grain: int = 0) -> int:
    """The final size for so many slots: the next of a ladder with at most ``more`` slots more.

    The coarsest ladder has the powers of two from the grain on, others have one, two, four and more
    steps from each power to the next. The finest one is taken in any case.
    """
    return rounded_to(full, lambda size: size - full <= more, tuning, grain)


def rounded_to(
    full: int, is_cheap: Callable[[int], bool], tuning: RunTuning, grain: int = 0
) -> int:
    """The final size for so many slots: the next of the coarsest ladder where that is cheap."""
    power = 1 << (full.bit_length() - 1)
    coarsest = max(grain or tuning.store_grain, power)
    halvings = (coarsest // power).bit_length() + tuning.rounded_part.bit_length() - 1
    for step in (max(1, coarsest >> k) for k in range(halvings)):
        size = -(-full // step) * step
        if is_cheap(size):
            break
    return size


def _largest(program: prog.Program) -> set[str]:
    """The names of the largest lengths."""
    return {length.largest for length in program.lengths}


def rounded_groups(program: prog.Program) -> tuple[CapacityGroup, ...]:
    """The groups whose final size may be rounded up: it varies, and no other array has it."""
    if BUDGET in dict(program.provenance):
        return ()
    taken = {kernel.name: {*kernel.bounds} for kernel in program.kernels}
    exact = {
        n.size
        for call in calls(program.tree)
        for n in call.needs
        if n.size in n.rows and taken[call.kernel] & {*symbols(n.size)}
    }
    for store in program.stores:
        exact |= {*store.shape, *(axis.size for axis in store.axes if not axis.grows)}
    constant = {b.name for b in program.bounds if isinstance(b.value, Const)}
    return tuple(
        (dim, size)
        for dim, size in groups(program)
        if size not in exact and not constant.issuperset(symbols(size))
    )


def _spare_slots(
    program: prog.Program, bounds: Mapping[str, int], full: Mapping[CapacityGroup, int]
) -> dict[CapacityGroup, int]:
    """By how many slots groups may be rounded up: in all by an eighth of the bytes, or a few."""
    slots = dict.fromkeys(rounded_groups(program), 0)
    given = {i.store for i in program.inputs} | {p.store for p in program.params}
    extents, nbytes = dict(program.dims), 0
    for store in program.stores:
        axis = store.growing
        group = (axis.dim, axis.size) if axis else None
        if store.name in given or group in slots:
            one = _slot_bytes(store, extents, bounds)
            nbytes += one * full[group] if group in slots else one
            if group in slots:
                slots[group] += one
    tuning = program.tuning
    spare = max(nbytes // tuning.rounded_part, tuning.rounded_bytes)
    return {group: spare // (len(slots) * max(1, one)) for group, one in slots.items()}


def _grain(program: prog.Program, bounds: Mapping[str, int], group: CapacityGroup) -> int:
    """The least final size of a group.

    Where steps read all rows so far it is half of the first size, as first steps of a block read
    half of the rows: a decoder with four layers of width 64 is compiled once for lengths to 256,
    for 2 to 3 s less than with 64 rows at least, and its runs of 20, 64, 100, 200 steps take 5.1,
    5.9, 11.0, 11.6 ms, not 4.5, 5.5, 10.9, 11.8 (CPU time, 2026-11-28).

    Where no step reads more than a few rows, slots that are there for nothing cost only what it
    takes to make them. A block that is one call for fewer steps has to be one for as many as that:
    few steps of training take as long as the several calls and their zeros (4.2 ms, not 1.4).
    """
    size, least = group[1], program.tuning.store_grain
    own = [s for s in program.stores if (a := s.growing) and (a.dim, a.size) == group]
    first = max((a.least for s in own if (a := s.growing)), default=0)
    if not isinstance(size, Sym) or first:
        return max(least, 1 << max(0, first.bit_length() - 2))
    extents = dict(program.dims)
    most = program.tuning.spare_bytes // max(1, sum(_slot_bytes(s, extents, bounds) for s in own))
    grain = max(least, 1 << max(0, most.bit_length() - 1))
    conditions = [block.single for block in blocks(program.tree)]
    while grain >= max(1, bounds[size.name]):
        if all(evaluate(c, {**bounds, size.name: grain}) for c in conditions):
            return grain
        grain //= 2
    return least


def _slot_bytes(store: Buffer, extents: Mapping[str, str], bounds: Mapping[str, int]) -> int:
    """The bytes of all arrays of a store for one slot of the axis that grows."""
    keys = (Sym(extents[k.dim]) if k.modulo is None else k.modulo for k in store.keys)
    sizes = (*keys, *(a.size for a in store.axes if a != store.growing), *store.shape)
    return math.prod([evaluate(e, bounds) for e in sizes], start=NUMPY[store.dtype].itemsize)


def rounded_bounds(program: prog.Program, bounds: Mapping[str, int]) -> dict[str, int]:
    """The bounds, those that are final sizes of growing stores rounded up as these are.

    What is decided by them is the same for all runs whose kernels are the same.
    """
    sizes = zip(groups(program), Capacities.of(program, bounds).sizes, strict=True)
    rounded_up = {s.name: last[-1] for (_, s), last in sizes if isinstance(s, Sym)}
    return {**bounds, **{n: max(bounds[n], size) for n, size in rounded_up.items() if n in bounds}}


@dataclass(slots=True)
class Capacities:
    """All sizes and the current size by number of the group; frames share `now`."""

    sizes: tuple[tuple[int, ...], ...]
    now: list[int]

    @classmethod
    def of(cls, program: prog.Program, bounds: Mapping[str, int]) -> Capacities:
        """The first sizes."""
        largest, first = _largest(program), _first_capacities(program)
        full = {group: max(1, evaluate(group[1], bounds)) for group in first}
        last = {
            group: rounded(full[group], more, program.tuning, _grain(program, bounds, group))
            for group, more in _spare_slots(program, bounds, full).items()
        }
        sizes: list[tuple[int, ...]] = []
        for group, least in first.items():
            sure = largest.isdisjoint(symbols(group[1]))
            some = buckets(full[group], least, program.tuning, sure=sure)
            sizes.append((*some[:-1], last.get(group, full[group])))
        return cls(tuple(sizes), [some[0] for some in sizes])

    def enough(self, group: int, rows: int) -> int:
        """The first size with so many rows, at least the current one."""
        sizes = self.sizes[group]
        return max(self.now[group], next((size for size in sizes if size >= rows), sizes[-1]))

    def steps_left(self, group: int, rows: int) -> int:
        """The consecutive steps before the next growth, if the first one needs so many rows."""
        size = self.enough(group, rows)
        return MANY if size == self.sizes[group][-1] else size - rows + 1
