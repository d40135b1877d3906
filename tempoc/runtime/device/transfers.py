"""Moves cells of offloaded stores between the device and the host, for a walk.

The walk holds an offloaded cell as `OnHost`. While it is on the device, the copy that it was loaded
from stays ``aside`` as long as it is valid, so that an eviction need not copy it back.
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
    """Loads and evictions of a run. ``filled`` are the stores whose cells start as zeros."""

    layouts: tuple[Layout, ...]
    keyed: Mapping[str, KeyedCells]
    filled: Collection[str]
    ledger: Ledger
    aside: dict[LedgerEntry, OnHost] = field(default_factory=dict)

    def names(self) -> dict[str, Callable[..., Any]]:
        """The functions by their names in a walk."""
        return {
            "load": self.load, "evict": self.evict, "loaded": self.loaded,
            "evicted": self.evicted, "stale": self.stale,
        }  # fmt: skip

    def load(self, number: int, key: Any) -> None:
        """Load a cell of a keyed store to the device, if it exists."""
        store = self.layouts[number]
        cells = self.keyed[store.name]
        if key in cells:
            cells[key] = self.loaded(number, cells[key], key)
        elif store.name in self.filled:
            cells.touch(key)

    def evict(self, number: int, key: Any) -> None:
        """Evict a cell of a keyed store, if it exists."""
        cells = self.keyed[self.layouts[number].name]
        if key in cells:
            cells[key] = self.evicted(number, cells[key], key)

    def loaded(self, number: int, cell: MovedCell, key: Any = ()) -> MovedCell:
        """The cell, copied to the device if necessary."""
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
        """The cell on the host, copied unless the copy there is valid."""
        if cell is None or isinstance(cell, OnHost):
            return cell
        copy = self.aside.pop((number, key), None)
        self.ledger.evict(number, key)
        return backend.to_host(cell) if copy is None else copy

    def stale(self, number: int, key: Any) -> None:
        """A cell was written or freed: forget the copy on the host."""
        self.aside.pop((number, key), None)
