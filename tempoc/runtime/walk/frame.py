"""The state of a host program while it runs: cells, variables, and an explicit stack of loops.

A checkpoint is a copy of it. The machine and the dry run are frames that know more: how many steps
a region takes at a time, what a kernel returns, what happens when a length ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tempoc.program.analysis.zero_filled import stores_read_as_zeros
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.data.bindings import PointIndex
from tempoc.runtime.device.accounting import Ledger
from tempoc.runtime.device.capacity import Capacities
from tempoc.runtime.device.device import Device
from tempoc.runtime.device.stores import KeyedCells, Layout, bare_key
from tempoc.runtime.device.transfers import Transfers
from tempoc.runtime.walk.values import Variables
from tempoc.symbolic.walk import table

ZEROS = "zeros"
"""The key in the ledger of the zeros that stand for absent arguments."""


class RunLengths(dict[tuple[int, ...] | int, int]):
    """The known lengths of a bound by bare point; for other points, the largest possible one."""

    def __init__(self, largest: int) -> None:
        super().__init__()
        self.largest = largest

    def __missing__(self, outer: tuple[int, ...] | int) -> int:
        """The bound has not ended at this point."""
        return self.largest


@dataclass(frozen=True, slots=True)
class Allocator:
    """Makes cells for the current capacities. Refers to no frame, whose cells refer to it."""

    device: Device
    capacities: Sequence[int]
    tuning: RunTuning

    def __call__(self, store: Layout, passed: bool = False) -> Any:
        """A new cell of zeros, perhaps of the host if it is ``passed`` to a kernel at once."""
        return self.device.zeros(store.shaped(self.capacities), store.dtype, self.tuning, passed)


@dataclass(slots=True)
class ActiveLoop:
    """A loop on the stack: its variable, its steps, and those that are still to come.

    Those of a region are divided into calls; they have no ``iterator``.
    """

    var: str
    steps: Sequence[int]
    iterator: Iterator[int] | None = None


@dataclass(frozen=True, slots=True)
class Storage:
    """The stores of a program for given bounds, by number; those that start as zeros.

    ``keyed`` are those with several cells, ``capacities`` the sizes of each group of growing ones.
    """

    program: prog.Program
    layouts: tuple[Layout, ...]
    numbers: Mapping[str, int]
    keyed: frozenset[int]
    filled: frozenset[str]
    capacities: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, program: prog.Program, layouts: Mapping[str, Layout], bounds: Mapping[str, int]
    ) -> Storage:
        """The stores with these layouts."""
        filled, sizes = stores_read_as_zeros(program), Capacities.of(program, bounds).sizes
        return cls(
            program=program,
            layouts=tuple(layouts.values()),
            numbers={name: number for number, name in enumerate(layouts)},
            keyed=frozenset(n for n, store in enumerate(layouts.values()) if not store.is_single),
            filled=filled,
            capacities=sizes,
        )


class RunFrame(ABC):
    """A run of a program on a device.

    ``cells`` has for each store, by number, its only cell (``None``: there is none) or all of them
    by key. ``position`` is the number of the instruction that runs, ``done[0]`` counts kernel
    calls, and ``ledger`` the bytes of stores, if the code does. ``ends`` has the lengths of each
    bound that has ended, by point, and ``longer`` the kernels of blocks of which an attempt to be
    one call has failed: it is likely to fail again.
    """

    def __init__(self, storage: Storage, bounds: Mapping[str, int], on: Device) -> None:
        program, layouts = storage.program, storage.layouts
        self.storage = storage
        self.program = program
        self.layouts = layouts
        self.bounds = dict(bounds)
        self.device = on
        self.capacities = Capacities(storage.capacities, [sizes[0] for sizes in storage.capacities])
        self.ledger = Ledger(layouts, self.capacities.now)
        tuning = program.tuning
        self.allocate = Allocator(on, self.capacities.now, tuning)
        self.filled = storage.filled
        self.transfers = Transfers(layouts, self.filled, self.ledger, on, self.allocate, tuning)
        self.lengths = {n.bound: RunLengths(bounds[n.bound]) for n in program.lengths}
        self.ends: dict[str, dict[PointIndex, int]] = {name: {} for name in self.lengths}
        self.tables: dict[str, Any] = {table(name): known for name, known in self.lengths.items()}
        self.variables: Variables = {**self.tables}
        self.cells: list[Any] = [None] * len(layouts)
        for number in storage.keyed:
            self.cells[number] = self._keyed(number)
        self.zeros: dict[int, Any] = {}
        self.loops: list[ActiveLoop] = []
        self.position = 0
        self.done = [0]
        self.longer: set[str] = set()

    def _keyed(self, number: int) -> KeyedCells:
        store = self.layouts[number]
        wrote = partial(self.ledger.wrote, number)
        return KeyedCells(store, store.name in self.filled, self.allocate, wrote)

    def place(self, given: Mapping[str, Mapping[PointIndex, Any]], *, account: bool) -> None:
        """Fill stores with ``given`` cells; ``account``: enter them into the ledger."""
        for name, cells in given.items():
            number = self.storage.numbers[name]
            is_keyed = number in self.storage.keyed
            note = self.ledger.put_away if self.layouts[number].away else self.ledger.wrote
            if self.layouts[number].is_chunked:
                self.transfers.sources[number] = cells[()]
                cells = {(): None}
            for key, cell in cells.items():
                if is_keyed:
                    self.cells[number][bare_key(key)] = cell
                else:
                    self.cells[number] = cell
                if account:
                    note(number, bare_key(key))

    def place_zeros(self, numbers: Iterable[int]) -> None:
        """Allocate the zeros that stand for absent arguments; they are never donated."""
        for number in numbers:
            self.zeros[number] = self.allocate(self.layouts[number])
            self.ledger.wrote(number, ZEROS)

    def grow(self, group: int, rows: int) -> None:
        """Reallocate all cells of a group of stores that needs so many rows."""
        size = self.capacities.enough(group, rows)
        if size == self.capacities.now[group]:
            return
        self.capacities.now[group] = size
        for number, store in enumerate(self.layouts):
            if store.group == group:
                cells = self.cells[number]
                if store.is_single:
                    if cells is not None:
                        self.cells[number] = self._grown(number, cells, ())
                else:
                    for key in [*cells]:
                        cells[key] = self._grown(number, cells[key], key)

    def _grown(self, number: int, cell: Any, key: object) -> Any:
        self.ledger.grew(number, key)
        store = self.layouts[number]
        return self.device.lengthened(cell, store.growing, self.capacities.now[store.group])

    def set_length(self, bound: str, outer: PointIndex, length: int) -> None:
        """Note the length of a bound that has ended at a point."""
        self.ends[bound][outer] = length
        self.lengths[bound][bare_key(outer)] = length

    # -------------------------------------------------------------- hooks

    @abstractmethod
    def check(self) -> None:
        """Evaluate all pending checks."""

    def steps_of(self, number: int, steps: range) -> Sequence[int]:
        """The steps of a loop of the host, by number, that are executed."""
        return steps

    @abstractmethod
    def region_steps(self, region: prog.Region, steps: range, steps_left: int | None) -> int:
        """The number of steps for the next call of a region, of the remaining ``steps``.

        With the ``steps_left`` that there is, so many of them may follow without growth.
        """

    @abstractmethod
    def region_returned(
        self, region: prog.Region, steps: range, rest: range, result: Any, ended: bool
    ) -> None:
        """A call of a region has returned: it ran ``steps``, unless a length ended before."""

    @abstractmethod
    def call_host(self, number: int, point: PointIndex, args: Sequence[Any]) -> Sequence[Any]:
        """The results of a host function."""

    @abstractmethod
    def perform(self, effect: prog.Effect, point: Any, values: Sequence[Any]) -> None:
        """Print or save the tensors of an effect."""

    @abstractmethod
    def failed(self, kernel: int, point: Any, fault: Any) -> None:
        """Note the fault that a call of a kernel has returned; it may mean that nothing failed."""

    @abstractmethod
    def length_ended(self, bound: str, outer: PointIndex, length: int) -> None:
        """A bound has ended at a point."""

    @abstractmethod
    def is_due(self) -> bool:
        """Whether a snapshot is due at a suspend point."""

    @abstractmethod
    def suspend(self, boundary: int) -> None:
        """Take a snapshot at a suspend point, by number."""
