"""A worklist of nodes in a fixed order, for fixpoint iterations."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush


class Worklist:
    """A set of pending names from which the first one in a given order is taken.

    With a topological order a fact passes through an acyclic graph in one sweep.
    """

    def __init__(self, order: Sequence[str]) -> None:
        """An empty worklist over these names."""
        self._order = order
        self._places = {name: k for k, name in enumerate(order)}
        self._heap: list[int] = []
        self._inside: set[int] = set()

    def add(self, name: str) -> None:
        """Add a name, unless it is pending already."""
        place = self._places[name]
        if place not in self._inside:
            self._inside.add(place)
            heappush(self._heap, place)

    def take(self) -> str | None:
        """Remove and return the next name; ``None`` if the worklist is empty."""
        if not self._heap:
            return None
        place = heappop(self._heap)
        self._inside.remove(place)
        return self._order[place]
