"""The accounting of a run: bytes in stores on the device, and of copies that the host has.

A cell may be in both places: after it was loaded, until somebody writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tempoc.runtime.device.stores import Layout

LedgerEntry = tuple[int, object]
"""A store by its number, and a key."""


@dataclass(slots=True)
class Account:
    """Bytes in one place: now, at most, and by store when there were most."""

    cells: dict[LedgerEntry, int] = field(default_factory=dict)
    now: int = 0
    peak: int = 0
    held: list[int] = field(default_factory=list)
    top: list[int] = field(default_factory=list)

    def add(self, store: int, size: int) -> None:
        """So much more of a store is there, or less."""
        self.now += size
        self.held[store] += size
        if self.now > self.peak:
            self.peak = self.now
            self.top = [*self.held]


@dataclass(slots=True)
class Ledger:
    """Bytes in stores: on the device, and of copies with the host (``away``).

    ``rows`` are the slots by now of stores that grow, by group. ``loaded`` and ``evicted`` are
    bytes that were copied. ``told`` hears of every change on the device.
    """

    layouts: tuple[Layout, ...]
    rows: Sequence[int] = ()
    here: Account = field(default_factory=Account)
    away: Account = field(default_factory=Account)
    loaded: int = 0
    evicted: int = 0
    told: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        """Nothing is there yet."""
        for account in (self.here, self.away):
            account.held = [0] * len(self.layouts)
            account.top = [*account.held]

    @property
    def now(self) -> int:
        """The bytes on the device."""
        return self.here.now

    @property
    def peak(self) -> int:
        """The most bytes that were on the device."""
        return self.here.peak

    def wrote(self, store: int, key: object) -> None:
        """A cell holds a value; a copy with the host is true no more."""
        if (store, key) in self.away.cells:
            self._left(store, key)
        if (store, key) not in self.here.cells:
            self._come(store, key)

    def grew(self, store: int, key: object) -> None:
        """A cell was copied into a larger one."""
        if (store, key) in self.here.cells:
            previous, size = self.here.cells[store, key], self.layouts[store].nbytes(self.rows)
            self.here.cells[store, key] = size
            self._add(store, size)
            self._add(store, -previous)

    def freed(self, store: int, key: object) -> None:
        """A cell was given back."""
        self._add(store, -self.here.cells.pop((store, key), 0))
        self._left(store, key)

    def put_away(self, store: int, key: object) -> None:
        """The host has a copy."""
        if (store, key) not in self.away.cells:
            size = self.layouts[store].nbytes(self.rows)
            self.away.cells[store, key] = size
            self.away.add(store, size)

    def load(self, store: int, key: object) -> None:
        """A copy of the host's was made on the device."""
        self._come(store, key)
        self.loaded += self.here.cells[store, key]

    def evict(self, store: int, key: object) -> None:
        """A cell has left the device; it was copied unless the host had that already."""
        if (store, key) not in self.away.cells:
            self.put_away(store, key)
            self.evicted += self.away.cells[store, key]
        self._add(store, -self.here.cells.pop((store, key), 0))

    def tops(self) -> list[tuple[int, list[int]]]:
        """The most bytes on the device and with the host, and of which stores these were."""
        return [(account.peak, account.top) for account in (self.here, self.away)]

    def restart(self, tops: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Nothing is there but what stands for missing arguments; there were such `tops`."""
        for store, key in [*self.here.cells, *self.away.cells]:
            if not isinstance(key, str):
                self.freed(store, key)
        for account, (peak, top) in zip((self.here, self.away), tops, strict=True):
            account.peak, account.top = max(peak, account.now), [*top]

    def at_peak(self) -> dict[str, int]:
        """The bytes of each store when there were most on the device."""
        return self._named(self.here)

    def away_at_peak(self) -> dict[str, int]:
        """The bytes of each store when the host had most."""
        return self._named(self.away)

    def _named(self, account: Account) -> dict[str, int]:
        sizes = zip(self.layouts, account.top, strict=True)
        return {layout.name: size for layout, size in sizes if size}

    def _come(self, store: int, key: object) -> None:
        size = self.layouts[store].nbytes(self.rows)
        self.here.cells[store, key] = size
        self._add(store, size)

    def _left(self, store: int, key: object) -> None:
        size = self.away.cells.pop((store, key), 0)
        if size:
            self.away.add(store, -size)

    def _add(self, store: int, size: int) -> None:
        self.here.add(store, size)
        if self.told is not None:
            self.told(self.here.now)
