"""What has been found out already: answers by question."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

R = TypeVar("R")


class Memo:
    """Answers that are worked out once; a key must say all that its answer depends on."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, object] = {}

    def once(self, key: Hashable, make: Callable[[], R]) -> R:
        """The answer to a question: what `make` found when it was asked for the first time."""
        if key not in self._answers:
            self._answers[key] = make()
        return cast(R, self._answers[key])

    def number(self, thing: Hashable) -> int:
        """A small number that stands for a thing, the same for equal ones."""
        return self.once(("number", thing), lambda: len(self._answers))
