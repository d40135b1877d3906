"""Memory accounting of a run: bytes of cells on the device, and of their copies on the host.

A cell may be in both places: from a load until it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tempoc.runtime.device.stores import Layout

LedgerEntry = tuple[int, object]
"""A store by its number, and a key."""


@dataclass(slots=True)
class Account:
    """Bytes in one place: now, at the peak, and by store now and at the peak."""

    cells: dict[LedgerEntry, int] = field(default_factory=dict)
    now: int = 0
    peak: int = 0
    by_store: list[int] = field(default_factory=list)
    at_peak: list[int] = field(default_factory=list)

    def add(self, store: int, size: int) -> None:
        """Add bytes of a store, or take them away (negative)."""
        self.now += size
        self.by_store[store] += size
        if self.now > self.peak:
            self.peak = self.now
            self.at_peak = [*self.by_store]


@dataclass(slots=True)
class Ledger:
    """Bytes of stores on the ``device``, and of offloaded cells on the host (``away``).

    ``rows`` are the current capacities of growing stores, by group. ``loaded`` and ``evicted`` are
    bytes that were copied, ``moved`` those by store. ``on_change`` is called for every change on
    the device.
    """

    layouts: tuple[Layout, ...]
    rows: Sequence[int] = ()
    device: Account = field(default_factory=Account)
    away: Account = field(default_factory=Account)
    loaded: int = 0
    evicted: int = 0
    moved: list[int] = field(default_factory=list)
    on_change: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        """Start with empty accounts."""
        self.moved = [0] * len(self.layouts)
        for account in (self.device, self.away):
            account.by_store = [0] * len(self.layouts)
            account.at_peak = [*account.by_store]

    @property
    def now(self) -> int:
        """The bytes on the device."""
        return self.device.now

    @property
    def peak(self) -> int:
        """The most bytes that were on the device."""
        return self.device.peak

    def wrote(self, store: int, key: object) -> None:
        """A cell was written on the device; a copy on the host is stale."""
        if (store, key) in self.away.cells:
            self._drop_copy(store, key)
        if (store, key) not in self.device.cells:
            self._add_cell(store, key)

    def grew(self, store: int, key: object) -> None:
        """A cell was reallocated with a larger capacity; for a moment there are both."""
        if (store, key) in self.device.cells:
            previous, size = self.device.cells[store, key], self.layouts[store].nbytes(self.rows)
            self.device.cells[store, key] = size
            self._add(store, size)
            self._add(store, -previous)

    def freed(self, store: int, key: object) -> None:
        """A cell was freed, with its copy on the host."""
        self._add(store, -self.device.cells.pop((store, key), 0))
        self._drop_copy(store, key)

    def put_away(self, store: int, key: object) -> None:
        """A cell has a copy on the host."""
        if (store, key) not in self.away.cells:
            size = self.layouts[store].nbytes(self.rows)
            self.away.cells[store, key] = size
            self.away.add(store, size)

    def load(self, store: int, key: object) -> None:
        """A cell was copied from the host to the device."""
        self._add_cell(store, key)
        self.loaded += self.device.cells[store, key]
        self.moved[store] += self.device.cells[store, key]

    def evict(self, store: int, key: object) -> None:
        """A cell left the device; it was copied unless the host had a valid copy."""
        if (store, key) not in self.away.cells:
            self.put_away(store, key)
            self.evicted += self.away.cells[store, key]
            self.moved[store] += self.away.cells[store, key]
        self._add(store, -self.device.cells.pop((store, key), 0))

    def peaks(self) -> list[tuple[int, list[int]]]:
        """The peaks on the device and on the host, each with the bytes by store."""
        return [(account.peak, account.at_peak) for account in (self.device, self.away)]

    def restart(self, tops: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Empty the accounts, except the zeros passed for absent arguments, and set the peaks."""
        for store, key in [*self.device.cells, *self.away.cells]:
            if not isinstance(key, str):
                self.freed(store, key)
        for account, (peak, top) in zip((self.device, self.away), tops, strict=True):
            account.peak, account.at_peak = max(peak, account.now), [*top]

    def at_peak(self) -> dict[str, int]:
        """The bytes of each store at the peak of the device."""
        return self._named(self.device)

    def away_at_peak(self) -> dict[str, int]:
        """The bytes of each store at the peak of the host."""
        return self._named(self.away)

    def _named(self, account: Account) -> dict[str, int]:
        sizes = zip(self.layouts, account.at_peak, strict=True)
        return {layout.name: size for layout, size in sizes if size}

    def _add_cell(self, store: int, key: object) -> None:
        size = self.layouts[store].nbytes(self.rows)
        self.device.cells[store, key] = size
        self._add(store, size)

    def _drop_copy(self, store: int, key: object) -> None:
        size = self.away.cells.pop((store, key), 0)
        if size:
            self.away.add(store, -size)

    def _add(self, store: int, size: int) -> None:
        self.device.add(store, size)
        if self.on_change is not None:
            self.on_change(self.device.now)
