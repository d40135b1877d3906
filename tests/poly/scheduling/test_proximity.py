"""Proximity: what isl is told to keep close."""

from __future__ import annotations

import pytest

from tempoc.poly.scheduling.proximity import last_element, neighbours
from tempoc.symbolic.expr import Slice
from tempoc.symbolic.parse import parse
from tempoc.symbolic.text import show
from tests.poly.relations.worlds import UNIVERSE, at, dom


@pytest.mark.parametrize(
    ("entry", "last"),
    [
        ("t-1", "t-1"),
        ("0:t+1", "t"),
        ("t:min(t+8, T)", "t+7"),
        ("0:T", "T-1"),
        ("0:min(P, T)", "min(P-1, T-1)"),
        ("t:T:2", "T-2"),
    ],
)
def test_last_element_without_its_clamp(entry: str, last: str) -> None:
    assert show(last_element(parse(entry), UNIVERSE)) == last


@pytest.mark.parametrize(
    ("read", "written", "near", "where"),
    [
        (at("t"), at("t"), "t", "true"),
        (at("t"), at("t+1"), "t", "true"),  # a read of the past: side by side
        (at("t-3"), at("t"), "t", "true"),
        (at("t:min(t+8, T)"), at("t"), "t+7", "true"),  # of the future: at its distance
        (at("t-1", "l"), at("t", "0"), "t", "l == 0"),
    ],
)
def test_neighbours(read, written, near: str, where: str) -> None:
    found = neighbours(read, written, dom("t"), UNIVERSE)
    assert found is not None
    assert (show(found[0][0]), show(found[1])) == (near, where)


def test_writes_that_are_not_shifts_have_no_hint() -> None:
    assert not isinstance(at("T-1-t")[0], Slice)
    assert neighbours(at("t"), at("T-1-t"), dom("t"), UNIVERSE) is None
