"""Cells as operands of instructions: functions that read, write and free them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tempoc.program.nodes import nodes as prog
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.device.transfers import Transfers
from tempoc.runtime.walk.frame import RunFrame
from tempoc.runtime.walk.values import Function, KeyValue, Values, function, key_value

Reader = Callable[[RunFrame], Any]
"""Gives the array of a cell, or arrays by key."""
Writer = Callable[[RunFrame, Any], None]
"""Stores an array."""
Action = Callable[[RunFrame], None]
"""Changes a frame."""
CellMoves = Callable[[Transfers, Mapping[Any, Any]], Mapping[Any, Any]]
"""Takes cells by the number of their store and their key; gives those that are then elsewhere."""


@dataclass(frozen=True, slots=True)
class CellAccess:
    """A cell at run time: its store, its key (``None``: it is the only cell), its condition."""

    number: int
    key: KeyValue | None
    when: Function | None = None

    def key_in(self, frame: RunFrame) -> Any:
        """The bare key; empty for the only cell."""
        if self.key is None:
            return ()
        return self.key(frame.variables) if callable(self.key) else self.key


@dataclass(frozen=True, slots=True)
class Operands:
    """Makes readers and writers. ``account``: enter what is written and freed into the ledger."""

    layouts: tuple[Layout, ...]
    numbers: Mapping[str, int]
    values: Values
    account: bool

    def access(self, cell: prog.Cell) -> CellAccess:
        """The cell as instructions refer to it."""
        number = self.numbers[cell.store]
        when = None if cell.when is None else function(self.values.of(cell.when))
        store = self.layouts[number]
        if store.is_single:
            return CellAccess(number, None, when)
        slots = map(self.values.slot, cell.key, store.moduli)
        return CellAccess(number, key_value([*slots]), when)

    def reader(self, cell: prog.Cell) -> Reader:
        """Reads a cell regardless of its condition."""
        access = self.access(cell)
        number, key = access.number, access.key
        if key is None:
            return lambda frame: frame.cells[number]
        if (ring := self.ring(cell)) is not None:
            name, offset, size = ring
            return lambda frame: frame.cells[number][(frame.variables[name] + offset) % size]
        if callable(key):
            return lambda frame: frame.cells[number][key(frame.variables)]
        return lambda frame: frame.cells[number][key]

    def chunk(self, chunk: prog.Chunk) -> Action:
        """The chunk of an input takes the place of the one before, whose array goes first."""
        number, row = self.numbers[chunk.store], function(self.values.of(chunk.row))
        (dim,) = self.layouts[number].axes

        def copy(frame: RunFrame) -> None:
            last = frame.bounds[dict(frame.program.dims)[dim]] - 1
            load = frame.transfers.chunk(number, row(frame.variables), last)
            if load is not None:
                frame.cells[number] = None
                frame.cells[number] = load()

        return copy

    def ring(self, cell: prog.Cell) -> tuple[str, int, int] | None:
        """The variable, the offset and the number of slots, if the key is ``(t + offset) % n``."""
        moduli = self.layouts[self.numbers[cell.store]].moduli
        if len(moduli) != 1 or moduli[0] < 2 or (affine := self.values.affine(cell.key[0])) is None:
            return None
        return *affine, moduli[0]

    def argument(self, cell: prog.Cell, *, donated: bool, overwritten: bool) -> Reader:
        """Reads an argument of a call; zeros where its condition fails, shared unless donated.

        A donated cell is removed from its store at once, unless it is ``overwritten``.
        """
        access = self.access(cell)
        number, when = access.number, access.when
        if when is not None:
            read, store = self.reader(cell), self.layouts[number]
            if donated:
                return lambda frame: read(frame) if when(frame.variables) else frame.allocate(store)
            return lambda frame: read(frame) if when(frame.variables) else frame.zeros[number]
        if donated and access.key is not None and not overwritten:
            return lambda frame: frame.cells[number].pop(access.key_in(frame))
        return self.reader(cell)

    def writer(self, cell: prog.Cell) -> Writer:
        """Stores an array in a cell, where its condition holds."""
        access = self.access(cell)
        number, key, when = access.number, access.key, access.when
        wrote = self.wrote(access)
        if when is None and wrote is None and (ring := self.ring(cell)) is not None:
            name, offset, size = ring

            def put_in_ring(frame: RunFrame, array: Any) -> None:
                frame.cells[number][(frame.variables[name] + offset) % size] = array

            return put_in_ring
        if when is None and wrote is None and callable(key):

            def put(frame: RunFrame, array: Any) -> None:
                frame.cells[number][key(frame.variables)] = array

            return put

        def write(frame: RunFrame, array: Any) -> None:
            if when is not None and not when(frame.variables):
                return
            if key is None:
                frame.cells[number] = array
            else:
                frame.cells[number][key(frame.variables) if callable(key) else key] = array
            if wrote is not None:
                wrote(frame)

        return write

    def wrote(self, access: CellAccess) -> Action | None:
        """What follows a write: a copy on the host is stale, the ledger grows."""
        number, away, account = access.number, self.layouts[access.number].away, self.account
        if not (away or account):
            return None

        def note(frame: RunFrame) -> None:
            key = access.key_in(frame)
            if away:
                frame.transfers.stale(number, key)
            if account:
                frame.ledger.wrote(number, key)

        return note

    def free(self, cell: prog.Cell, *, popped: bool = False) -> Action:
        """Frees a cell where its condition holds; one that was ``popped`` is gone already."""
        access = self.access(cell)
        number, when = access.number, access.when
        away, account = self.layouts[number].away, self.account
        removed = popped and access.key is not None and when is None

        def free(frame: RunFrame) -> None:
            if when is not None and not when(frame.variables):
                return
            key = access.key_in(frame)
            if access.key is None:
                frame.cells[number] = None
            elif not removed:
                frame.cells[number].pop(key, None)
            if away:
                frame.transfers.stale(number, key)
            if account:
                frame.ledger.freed(number, key)

        return free

    def moves(self, cells: Iterable[prog.Cell], moved: CellMoves) -> Action:
        """Moves the cells whose conditions hold to the places that ``moved`` gives them."""
        accesses = [self.access(cell) for cell in cells]

        def move(frame: RunFrame) -> None:
            arrays = {}
            for access in accesses:
                if access.when is None or access.when(frame.variables):
                    array, key = frame.cells[access.number], access.key_in(frame)
                    arrays[access.number, key] = array if access.key is None else array.get(key)
            for (number, key), array in moved(frame.transfers, arrays).items():
                if key == ():
                    frame.cells[number] = array
                else:
                    frame.cells[number][key] = array

        return move

    def several(self, cells: prog.Cells) -> Reader:
        """Reads an operand of a region: an array, or a dict of arrays by slots."""
        readers = {place: self.reader(cell) for place, cell in self.arrays(cells)}
        if not cells.places:
            return next(iter(readers.values()))
        return lambda frame: {place: read(frame) for place, read in readers.items()}

    def several_writer(self, cells: prog.Cells) -> Writer:
        """Stores a result of a region in its cells."""
        writers = {place: self.writer(cell) for place, cell in self.arrays(cells)}
        if not cells.places:
            return next(iter(writers.values()))

        def write(frame: RunFrame, arrays: Mapping[Any, Any]) -> None:
            for place, put in writers.items():
                put(frame, arrays[place])

        return write

    def arrays(self, cells: prog.Cells) -> list[tuple[Any, prog.Cell]]:
        """The cells of an operand of a region, each with the slots that are its key there."""
        moduli = self.layouts[self.numbers[cells.store]].moduli
        arrays: list[tuple[Any, prog.Cell]] = []
        for key in cells.keys:
            slots = [self.values.slot(key[k], moduli[k]) for k in cells.places]
            arrays.append((key_value(slots), prog.Cell(store=cells.store, key=key)))
        return arrays
