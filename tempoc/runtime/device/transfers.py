"""Moves cells between the device and the host, for a walk.

Cells of stores that live with the host are `OnHost` where the walk keeps them, unless they are on
the device. Then the copy from which they were loaded stays ``aside``, as long as it is true: who
takes such a cell off the device again need not copy it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from tempoc.runtime.device import backend
from tempoc.runtime.device.accounting import Ledger, LedgerEntry
from tempoc.runtime.device.backend import DeviceArray, OnHost
from tempoc.runtime.device.stores import KeyedCells, Layout

MovedCell = DeviceArray | OnHost | None


@dataclass(slots=True)
class Transfers:
    """The cells of a run that move. ``filled`` are the stores whose cells start as zeros."""

    layouts: tuple[Layout, ...]
    keyed: Mapping[str, KeyedCells]
    filled: Collection[str]
    ledger: Ledger
    aside: dict[LedgerEntry, OnHost] = field(default_factory=dict)

    def names(self) -> dict[str, Callable[..., Any]]:
        """The names in a walk."""
        return {
            "load": self.load, "evict": self.evict, "loaded": self.loaded,
            "evicted": self.evicted, "stale": self.stale,
        }  # fmt: skip

    def load(self, number: int, key: Any) -> None:
        """Bring a cell of a store with keys to the device, if there is one."""
        store = self.layouts[number]
        cells = self.keyed[store.name]
        if key in cells:
            cells[key] = self.loaded(number, cells[key], key)
        elif store.name in self.filled:
            cells.touch(key)

    def evict(self, number: int, key: Any) -> None:
        """Take a cell of a store with keys off the device, if it is there."""
        cells = self.keyed[self.layouts[number].name]
        if key in cells:
            cells[key] = self.evicted(number, cells[key], key)

    def loaded(self, number: int, cell: MovedCell, key: Any = ()) -> MovedCell:
        """A cell on the device."""
        store = self.layouts[number]
        if isinstance(cell, OnHost):
            self.aside[number, key] = cell
            self.ledger.load(number, key)
            return backend.to_device(cell, store.dtype)
        if cell is None and store.name in self.filled:
            self.ledger.wrote(number, key)
            return backend.zeros(store.shape, store.dtype)
        return cell

    def evicted(self, number: int, cell: MovedCell, key: Any = ()) -> MovedCell:
        """A cell with the host."""
        if cell is None or isinstance(cell, OnHost):
            return cell
        copy = self.aside.pop((number, key), None)
        self.ledger.evict(number, key)
        return backend.to_host(cell) if copy is None else copy

    def stale(self, number: int, key: Any) -> None:
        """Somebody has written a cell, or it is gone."""
        self.aside.pop((number, key), None)
