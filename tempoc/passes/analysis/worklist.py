"""Nodes that wait to be looked at (again), taken in a fixed order: how analyses come to rest."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush


class Waiting:
    """Names, each at most once; the one that stands first in the order is taken first.

    Along that order a fact passes through a graph without cycles in one sweep.
    """

    def __init__(self, order: Sequence[str]) -> None:
        """Nobody waits."""
        self._order = order
        self._places = {name: k for k, name in enumerate(order)}
        self._heap: list[int] = []
        self._inside: set[int] = set()

    def add(self, name: str) -> None:
        """Let a name wait, if it does not yet."""
        place = self._places[name]
        if place not in self._inside:
            self._inside.add(place)
            heappush(self._heap, place)

    def take(self) -> str | None:
        """The next name; ``None`` when nobody waits."""
        if not self._heap:
            return None
        place = heappop(self._heap)
        self._inside.remove(place)
        return self._order[place]
