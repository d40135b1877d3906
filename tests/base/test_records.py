"""Classes of `tempoc.base.records` beside the same classes of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tempoc.base import records

BOTH: list[Callable[..., Any]] = [records.dataclass, dataclasses.dataclass]
OPTIONS = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only, "eq": eq}
    for frozen in (False, True)
    for slots in (False, True)
    for kw_only in (False, True)
    for eq in (False, True)
]


def classes(make: Callable[..., Any], options: dict[str, bool]) -> tuple[type, type]:
    """A class with all kinds of fields, and one that inherits from it."""

    @make(**options)
    class Point:
        """A point."""

        x: int
        y: int = 2
        names: list[str] = dataclasses.field(default_factory=list)
        total: int = dataclasses.field(init=False, default=7, compare=False)
        note: str = dataclasses.field(default="", repr=False, kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + self.y)

    @make(**options)
    class Named(Point):
        """One with another field."""

        name: str = "p"

        def __repr__(self) -> str:
            return f"<{self.name}>"

    return Point, Named


def outcome(action: Callable[[], object]) -> object:
    """The value, or the type and the text of the exception."""
    try:
        return action()
    except Exception as error:
        return type(error), str(error)


def observed(make: Callable[..., Any], options: dict[str, bool]) -> list[object]:
    """What both classes show of themselves."""
    seen: list[object] = []
    for cls in classes(make, options):
        one, other = cls(x=1, note="a"), cls(x=1, note="a")
        seen += [repr(one), one == other, one == 1, hasattr(one, "__dict__"), one.names == []]
        seen += [one.names is other.names, one.total, one.note, cls.__match_args__]
        seen += [outcome(lambda cls=cls: cls()), outcome(lambda cls=cls: cls(1, 2, [], 3, 4, 5))]
        seen += [outcome(lambda cls=cls: cls(1, 5).y), outcome(lambda cls=cls: cls(x=1, total=3))]
        seen += [cls(x=1, note="b") == one, dataclasses.asdict(one)]
        seen += [dataclasses.replace(one, x=4).total, copy.deepcopy(one).names]
        seen += [cls.__hash__ is None, [*inspect.signature(one.__init__).parameters]]
        seen.append(outcome(lambda one=one: setattr(one, "y", 3)))
        seen.append(outcome(lambda one=one: delattr(one, "y")))
        seen.append(outcome(lambda one=one: setattr(one, "unknown", 3))) if not options[
            "slots"
        ] else None
    return seen


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_as_in_the_standard_library(options: dict[str, bool]) -> None:
    ours, theirs = (observed(make, options) for make in BOTH)
    assert ours == theirs


@records.dataclass(frozen=True, slots=True)
class Pair:
    """At the top of a module, for pickle."""

    a: int
    b: tuple[int, ...] = ()


def test_hashes_and_copies() -> None:
    one = Pair(1, (2,))
    assert hash(one) == hash(Pair(1, (2,))) and {one: 3}[Pair(1, (2,))] == 3
    assert pickle.loads(pickle.dumps(one)) == one and copy.copy(one) == one
    assert Pair.__init__.__qualname__ == "Pair.__init__"
