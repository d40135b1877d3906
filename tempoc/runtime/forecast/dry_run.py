"""The dry run: predicts the peak of memory by running the walk with cells that hold nothing.

The ledger counts the bytes of cells that the walk writes, frees and grows. The same walk with
kernels that do nothing gives the same counts before the run, without a device. Long loops are
sampled (``walk/sample_steps.py``). A loop that ends early at run time is taken to its largest
length; since cells that its last step frees may stay if it ends earlier, short lengths are tried as
well.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes.nodes import Call, Program, Region
from tempoc.runtime.device.accounting import Ledger
from tempoc.runtime.device.capacity import Capacities, groups
from tempoc.runtime.device.stores import Layout, layout
from tempoc.runtime.walk.sample_steps import sampled
from tempoc.runtime.walk.walk import WalkOptions, WalkText, is_local, stores_read_as_zeros
from tempoc.runtime.walk.write_walk import write_walk


class _Cell:
    """A placeholder for an array, and for a dict of arrays."""

    def __getitem__(self, place: object) -> _Cell:
        """One of them."""
        return self


SHORT = (1, 2, 3)
"""Short lengths to try for bounds that end during the run."""
CELL = _Cell()
"""The placeholder of all cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Predicted bytes: the ``peak`` on the device, then by store; bytes of ``given`` stores.

    ``away`` is the peak of offloaded stores on the host, then by store. ``loaded`` and ``evicted``
    are the bytes copied to the device and back, in the steps that were sampled.
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
    """Predict the memory of a run; ``given`` are the stores filled before it.

    ``every_step``: do not sample loops.
    """
    dry_runs = (
        _DryRun(program, bounds, given, not every_step, lengths)
        for lengths in _length_patterns(program, bounds)
    )
    return max((dry_run.run() for dry_run in dry_runs), key=lambda f: f.peak)


def _length_patterns(program: Program, bounds: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Patterns of lengths over points (0: the largest): all equal, or alternating."""
    yield (0,)
    most = max((bounds[n.bound] for n in program.lengths), default=0)
    differ = any(n.outer for n in program.lengths)
    for n in dict.fromkeys(n for n in (*SHORT, most - 1) if 0 < n < most):
        yield (n,)
        if differ:
            yield from ((n, 0), (0, n))


class _Cells(dict[Any, object]):
    """The cells of a keyed store; a missing one is added."""

    def __init__(self, wrote: Callable[[object], None]) -> None:
        super().__init__()
        self.wrote = wrote

    def __missing__(self, key: object) -> object:
        """A cell that starts as zeros."""
        self[key] = CELL
        self.wrote(key)
        return CELL


class _DryRun:
    """A stand-in for the machine, without arrays."""

    def __init__(
        self,
        program: Program,
        bounds: Mapping[str, int],
        given: frozenset[str],
        sample: bool,
        lengths: tuple[int, ...],
    ) -> None:
        """``lengths`` is the pattern of lengths over points; 0: the largest."""
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
        """Run the walk, and read the ledger."""
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
        """Kernels that do nothing, by name: they return placeholders, endings, and no fault."""
        faults = {k.name: (None,) * bool(k.checks) for k in self.program.kernels}
        by_name: dict[str, Callable[..., tuple[object, ...]]] = {}
        for part in statements_in(self.program.tree):
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
        """The results of a call of a region: cells, and lengths that end in its steps."""
        length = self.length(self.outer)
        length = length if length - 1 in self.steps else 0
        return (CELL,) * cells + ((length,) * endings,) * bool(endings) + fault

    def length(self, outer: tuple[int, ...]) -> int:
        """The length at a point, by the pattern."""
        return self.lengths[sum(outer) % len(self.lengths)]

    def length_ended(self, bound: str, outer: tuple[int, ...], length: int) -> None:
        """A bound may end here; it does if this is its length in the pattern."""
        if length == self.length(outer):
            self.tables[bound][outer[0] if len(outer) == 1 else outer] = length

    def sample(
        self,
        steps: range,
        first: int,
        marks: Callable[[int], tuple[int, ...]],
        rows: Callable[[int], tuple[tuple[int, int], ...]],
    ) -> Sequence[int]:
        """The steps of a loop to take."""
        if len(steps) < 2:
            return steps
        a, b = steps[:2]
        lines = [
            (x, y, self.capacities.sizes[n])
            for (n, x), (_, y) in zip(rows(a), rows(b), strict=True)
        ]
        return sampled(steps, first, [*zip(marks(a), marks(b), strict=True)], lines)

    def grow(self, group: int, rows: int) -> None:
        """Grow the keyed stores of a group; the walk grows those in its local variables."""
        size = self.capacities.enough(group, rows)
        if size == self.capacities.now[group]:
            return
        self.capacities.now[group] = size
        for i, cells in self.keyed.items():
            if self.layouts[i].group == group:
                for key in cells:
                    self.ledger.grew(i, key)

    def grown(self, number: int, cell: object) -> object:
        """Grow a cell in a local variable of the walk."""
        if cell is not None:
            self.ledger.grew(number, ())
        return cell

    def load(self, number: int, key: object) -> None:
        """Load a cell of a keyed store."""
        cells = self.keyed[number]
        if key in cells:
            self.loaded(number, CELL, key)
        elif (number, key) in self.ledger.away.cells or self.layouts[number].name in self.filled:
            cells[key] = self.loaded(number, None, key)

    def evict(self, number: int, key: object) -> None:
        """Evict a cell of a keyed store."""
        if key in self.keyed[number]:
            self.evicted(number, CELL, key)

    def loaded(self, number: int, cell: object, key: object = ()) -> object:
        """The cell, loaded if it is on the host."""
        place = number, key
        if place in self.ledger.away.cells and place not in self.ledger.device.cells:
            self.ledger.load(number, key)
        elif cell is None and self.layouts[number].name in self.filled:
            self.ledger.wrote(number, key)
        else:
            return cell
        return CELL

    def evicted(self, number: int, cell: object, key: object = ()) -> object:
        """The cell, evicted if it is on the device."""
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
        """The calls of a region: one for each capacity of its growing stores."""
        while steps:
            count = len(steps) if left is None else min(len(steps), left(steps[0]))
            self.steps, self.outer = steps[:count], outer
            yield (steps[0], count, *outer), _nothing
            steps = steps[count:]


class _Lengths(dict[object, int]):
    """Lengths by point: the largest possible one until the bound ends there."""

    def __init__(self, largest: int) -> None:
        super().__init__()
        self.largest = largest

    def __missing__(self, point: object) -> int:
        """The bound has not ended at this point."""
        return self.largest


def _nothing(*given: object) -> None:
    """Does nothing."""


def _constant_kernel(results: tuple[object, ...]) -> Callable[..., tuple[object, ...]]:
    """A kernel that returns the given results."""
    return lambda *given: results
