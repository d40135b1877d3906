"""Moves cells of offloaded stores between the device and the host, for a host program.

While a cell is on the device, the copy that it was loaded from stays ``aside`` as long as it is
valid, so that an eviction need not copy it back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from tempoc.runtime.device.accounting import Ledger, LedgerEntry
from tempoc.runtime.device.device import Device
from tempoc.runtime.device.stores import Layout


@dataclass(slots=True)
class Transfers:
    """Loads and evictions of a run. ``filled`` are the stores whose cells start as zeros.

    ``allocate`` makes them.
    """

    layouts: tuple[Layout, ...]
    filled: Collection[str]
    ledger: Ledger
    device: Device
    allocate: Callable[[Layout], Any]
    aside: dict[LedgerEntry, Any] = field(default_factory=dict)

    def loaded(self, number: int, cell: Any, key: Any = ()) -> Any:
        """The cell, copied to the device if necessary."""
        store = self.layouts[number]
        if self.device.is_on_host(cell):
            self.aside[number, key] = cell
            self.ledger.load(number, key)
            return self.device.to_device(cell, store.dtype)
        if cell is None and store.name in self.filled:
            self.ledger.wrote(number, key)
            return self.allocate(store)
        return cell

    def evicted(self, number: int, cell: Any, key: Any = ()) -> Any:
        """The cell on the host, copied unless the copy there is valid."""
        if cell is None or self.device.is_on_host(cell):
            return cell
        copy = self.aside.pop((number, key), None)
        self.ledger.evict(number, key)
        return self.device.to_host(cell) if copy is None else copy

    def stale(self, number: int, key: Any) -> None:
        """A cell was written or freed: forget the copy on the host."""
        self.aside.pop((number, key), None)
