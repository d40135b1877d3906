"""A memo table: results by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

R = TypeVar("R")


class Memo:
    """Results that are computed once; a key must contain all that its result depends on."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, object] = {}

    def once(self, key: Hashable, make: Callable[[], R]) -> R:
        """The result for a key; `make` computes it when the key is first used."""
        if key not in self._answers:
            self._answers[key] = make()
        return cast(R, self._answers[key])

    def number(self, value: Hashable) -> int:
        """A small number for a value, the same for equal values."""
        return self.once(("number", value), lambda: len(self._answers))
