"""What a run would take, found out without one: its walk, with nothing in the cells.

The ledger of a run counts what the walk writes, frees and lets grow. The same walk with kernels
that do nothing gives the same counts before the run, and without a device. Of long loops only the
steps are taken that tell about all of them (``telling``). A loop with an end that the run finds out
goes as far as it may; as what its last step gives back may stay where it ends earlier, it is walked
with short lengths, too.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

from tempoc.program.analysis.traversal import every
from tempoc.program.nodes.nodes import Call, Program, Region
from tempoc.runtime.device.accounting import Ledger
from tempoc.runtime.device.capacity import Capacities, groups
from tempoc.runtime.device.stores import Layout, layout
from tempoc.runtime.walk.sample_steps import sampled
from tempoc.runtime.walk.walk import WalkOptions, WalkText, is_local, stores_read_as_zeros
from tempoc.runtime.walk.write_walk import write_walk


class _Cell:
    """What stands for an array, and for several of them by their places."""

    def __getitem__(self, place: object) -> _Cell:
        """One of them."""
        return self


SHORT = (1, 2, 3)
"""Lengths that a run might find out for which its walk is looked at."""
CELL = _Cell()
"""An array that nobody looks into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Bytes in stores: when there are most on the device, then by store, and of what is given.

    ``away`` are the most that the host has of stores that live there, then by store. ``loaded`` and
    ``evicted`` are bytes that are copied to the device and from there, in all steps that were
    looked at.
    """

    peak: int
    stores: Mapping[str, int]
    given: int
    away: int = 0
    away_stores: Mapping[str, int] = field(default_factory=dict)
    loaded: int = 0
    evicted: int = 0


def forecast(
    program: Program, bounds: Mapping[str, int], given: frozenset[str], *, every_step: bool = False
) -> Forecast:
    """The most bytes that stores of a run will have; ``given`` are those filled before it."""
    dry_runs = (
        _DryRun(program, bounds, given, not every_step, lengths)
        for lengths in _length_patterns(program, bounds)
    )
    return max((dry_run.run() for dry_run in dry_runs), key=lambda f: f.peak)


def _length_patterns(program: Program, bounds: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Lengths that points have in turn: all the same, and of two neighbours one the most."""
    yield (0,)
    most = max((bounds[n.bound] for n in program.lengths), default=0)
    differ = any(n.outer for n in program.lengths)
    for n in dict.fromkeys(n for n in (*SHORT, most - 1) if 0 < n < most):
        yield (n,)
        if differ:
            yield from ((n, 0), (0, n))


class _Cells(dict[Any, object]):
    """The cells of a store with keys; whoever wants one gets it."""

    def __init__(self, wrote: Callable[[object], None]) -> None:
        super().__init__()
        self.wrote = wrote

    def __missing__(self, key: object) -> object:
        """A cell that starts as zeros."""
        self[key] = CELL
        self.wrote(key)
        return CELL


class _DryRun:
    """The machine's part of a walk, without arrays."""

    def __init__(
        self,
        program: Program,
        bounds: Mapping[str, int],
        given: frozenset[str],
        sample: bool,
        lengths: tuple[int, ...],
    ) -> None:
        """``lengths`` are what the run finds out at points, in turn; 0: the most."""
        self.lengths = lengths
        self.outer: tuple[int, ...] = ()
        self.tables = {n.bound: _Lengths(bounds[n.bound]) for n in program.lengths}
        self.steps = range(0)
        growing = groups(program)
        layouts = {s.name: layout(s, bounds, growing) for s in program.stores}
        self.program = program
        self.bounds = bounds
        self.layouts = tuple(layouts.values())
        self.capacities = Capacities.of(program, bounds)
        self.ledger = Ledger(self.layouts, self.capacities.now)
        wishes = WalkOptions(account=True, sample=sample)
        self.walk = write_walk(program, layouts, bounds, given, wishes)
        self.keyed = {
            i: _Cells(lambda key, i=i: self.ledger.wrote(i, key))  # type: ignore[misc]
            for i, store in enumerate(self.layouts)
            if not is_local(store)
        }
        for i, store in enumerate(self.layouts):
            if store.name in given:
                for key in self._keys(store):
                    (self.ledger.put_away if store.away else self.ledger.wrote)(i, key)
        self.given = self.ledger.now + self.ledger.away.now
        self.filled = stores_read_as_zeros(program)

    def _keys(self, store: Layout) -> Iterator[Any]:
        sizes = {dim: self.bounds[bound] for dim, bound in self.program.dims}
        for key in itertools.product(*(range(sizes[d]) for d in store.keys)):
            yield key[0] if len(key) == 1 else key

    def run(self) -> Forecast:
        """Walk; the ledger knows the rest."""
        scope = self._scope(self.walk)
        FunctionType(self.walk.code, scope)()
        scope.clear()
        ledger = self.ledger
        return Forecast(
            peak=ledger.peak,
            stores=ledger.at_peak(),
            given=self.given,
            away=ledger.away.peak,
            away_stores=ledger.away_at_peak(),
            loaded=ledger.loaded,
            evicted=ledger.evicted,
        )

    def _scope(self, walk: WalkText) -> dict[str, Any]:
        numbers = {store.name: i for i, store in enumerate(self.layouts)}
        for name, store in walk.zeros.items():
            self.ledger.wrote(numbers[store], name)
        scope: dict[str, Any] = {
            "array": _nothing, "i32": None, "faults": deque[Any](maxlen=0), "check": _nothing,
            "done": [0], "wrote": self.ledger.wrote, "freed": self.ledger.freed,
            "perform": _nothing, "ended": self.length_ended, "turns": self.region_calls,
            "rooms": self.capacities.now, "left": self.capacities.steps_left, "more": self.grow,
            "grown": self.grown, "some": self.sample, "load": self.load, "evict": self.evict,
            "loaded": self.loaded, "evicted": self.evicted, "stale": _nothing,
        }  # fmt: skip
        scope |= {f"n{k}": table for k, table in enumerate(self.tables.values())}
        scope |= dict.fromkeys((*walk.constants, *walk.zeros), CELL)
        kernels = self.kernels()
        scope |= {
            f"k{i}": kernels.get(k.name, _constant_kernel(()))
            for i, k in enumerate(self.program.kernels)
        }
        scope |= {
            f"host{i}": _constant_kernel((CELL,) * len(h.results)) for i, h in enumerate(walk.hosts)
        }
        for i in range(len(self.layouts)):
            scope[f"s{i}"] = self.keyed.get(i)
            scope[f"given{i}"] = CELL
            scope[f"zeros{i}"] = lambda: CELL
        return scope

    def kernels(self) -> Mapping[str, Callable[..., tuple[object, ...]]]:
        """Kernels that do nothing, by name: they give cells, endings, and no fault."""
        faults = {k.name: (None,) * bool(k.checks) for k in self.program.kernels}
        by_name: dict[str, Callable[..., tuple[object, ...]]] = {}
        for part in every(self.program.tree):
            match part:
                case Call(kernel=name) if name not in by_name:
                    cells = (CELL,) * len(part.results)
                    ends = (any(self.lengths),) * len(part.endings)
                    by_name[name] = _constant_kernel(cells + ends + faults[name])
                case Region(kernel=name) if name not in by_name:
                    counts = len(part.carried), len(part.endings)
                    by_name[name] = partial(self.region, *counts, faults[name])
                case _:
                    pass
        return by_name

    def region(
        self, cells: int, endings: int, fault: tuple[None, ...], *given: object
    ) -> tuple[object, ...]:
        """What the steps at hand of a region give: cells, and lengths if they are found by then."""
        length = self.length(self.outer)
        length = length if length - 1 in self.steps else 0
        return (CELL,) * cells + ((length,) * endings,) * bool(endings) + fault

    def length(self, outer: tuple[int, ...]) -> int:
        """What the run finds out at a point."""
        return self.lengths[sum(outer) % len(self.lengths)]

    def length_ended(self, bound: str, outer: tuple[int, ...], length: int) -> None:
        """A loop may end here; it does if that is its length."""
        if length == self.length(outer):
            self.tables[bound][outer[0] if len(outer) == 1 else outer] = length

    def sample(
        self,
        steps: range,
        first: int,
        marks: Callable[[int], tuple[int, ...]],
        rows: Callable[[int], tuple[tuple[int, int], ...]],
    ) -> Sequence[int]:
        """The steps of a loop that count."""
        if len(steps) < 2:
            return steps
        a, b = steps[:2]
        lines = [
            (x, y, self.capacities.sizes[n])
            for (n, x), (_, y) in zip(rows(a), rows(b), strict=True)
        ]
        return sampled(steps, first, [*zip(marks(a), marks(b), strict=True)], lines)

    def grow(self, group: int, rows: int) -> None:
        """Let the stores of a group grow; the walk does the same for those that it has itself."""
        size = self.capacities.enough(group, rows)
        if size == self.capacities.now[group]:
            return
        self.capacities.now[group] = size
        for i, cells in self.keyed.items():
            if self.layouts[i].group == group:
                for key in cells:
                    self.ledger.grew(i, key)

    def grown(self, number: int, cell: object) -> object:
        """A cell that the walk has itself."""
        if cell is not None:
            self.ledger.grew(number, ())
        return cell

    def load(self, number: int, key: object) -> None:
        """Bring a cell of a store with keys to the device."""
        cells = self.keyed[number]
        if key in cells:
            self.loaded(number, CELL, key)
        elif (number, key) in self.ledger.away.cells or self.layouts[number].name in self.filled:
            cells[key] = self.loaded(number, None, key)

    def evict(self, number: int, key: object) -> None:
        """Take a cell of a store with keys off the device."""
        if key in self.keyed[number]:
            self.evicted(number, CELL, key)

    def loaded(self, number: int, cell: object, key: object = ()) -> object:
        """A cell on the device."""
        place = number, key
        if place in self.ledger.away.cells and place not in self.ledger.device.cells:
            self.ledger.load(number, key)
        elif cell is None and self.layouts[number].name in self.filled:
            self.ledger.wrote(number, key)
        else:
            return cell
        return CELL

    def evicted(self, number: int, cell: object, key: object = ()) -> object:
        """A cell with the host."""
        if cell is not None and (number, key) in self.ledger.device.cells:
            self.ledger.evict(number, key)
        return cell

    def region_calls(
        self,
        number: int,
        steps: range,
        outer: tuple[int, ...],
        left: Callable[[int], int] | None = None,
    ) -> Iterator[tuple[tuple[int, ...], Callable[[object], None]]]:
        """The calls of a region: one for each size of what grows in it."""
        while steps:
            count = len(steps) if left is None else min(len(steps), left(steps[0]))
            self.steps, self.outer = steps[:count], outer
            yield (steps[0], count, *outer), _nothing
            steps = steps[count:]


class _Lengths(dict[object, int]):
    """A length at any point: as long as it may be, until its end is seen."""

    def __init__(self, largest: int) -> None:
        super().__init__()
        self.largest = largest

    def __missing__(self, point: object) -> int:
        """The end has not been seen."""
        return self.largest


def _nothing(*given: object) -> None:
    """What is done to arrays, where there are none."""


def _constant_kernel(results: tuple[object, ...]) -> Callable[..., tuple[object, ...]]:
    """A kernel that does nothing but give this."""
    return lambda *given: results
