"""Equal values are one object, for as long as somebody has it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tempoc.symbolic import interned
from tempoc.symbolic.interned import Interned


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Pair(metaclass=Interned):
    """Two things, the second of which is mostly 1."""

    first: object
    second: int = 1


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Other(metaclass=Interned):
    """Another class with the same fields."""

    first: object
    second: int = 1


def test_however_they_are_built_equal_values_are_one_object() -> None:
    one = Pair("a")
    assert Pair("a", 1) is one
    assert Pair(first="a") is one
    assert Pair("a", second=1) is one
    assert replace(Pair("a", 2), second=1) is one
    assert Pair(Pair("a"), 3) is Pair(one, 3)
    assert {one: "found"}[Pair("a")] == "found"


def test_others_differ() -> None:
    one = Pair("a")
    assert Pair("a", 2) != one
    assert Pair("b") != one
    assert Other("a") != one
    assert Pair("a").second == 1 and Pair("a", 2).second == 2


def test_what_nobody_has_is_gone() -> None:
    before = len(interned._known)
    some = [Pair(f"name {k}") for k in range(100)]
    assert len(interned._known) >= before + 100
    del some
    assert len(interned._known) <= before


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        Pair()
    with pytest.raises(TypeError):
        Pair("a", 1, 2)
