"""Questions that take isl too long: given up by number of steps, and nothing goes wrong for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.base.effort import EFFORT
from tempoc.poly.relations import sets
from tempoc.poly.relations.sets import IslFrame
from tempoc.poly.relations.space import Space
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.parse import parse_expr
from tempoc.symbolic.text import show
from tests.poly.relations.worlds import dom, space
from tests.support.agreement import agree, all_equal, compile_text

RING = """
dim t < T
input x[t]: f32[4]
h[t] = x * 0.5
y[t] = sum(h[max(0, t-3)//2:t//2+1]) when t % 2 == 0
y[t] = h[t//3][0] + h[t][1]
z[t] = sum(y[t:min(t+3, T)])
output z
"""
RING_OF_3 = parse_expr("min(T, 3)")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Isl answers next to nothing soon."""
    monkeypatch.setattr(sets, "EFFORT", replace(EFFORT, first_steps=1, least_steps=1))


def unsettled() -> Space:
    """A space in which nothing was asked yet."""
    return Space(space().universe)


def test_what_takes_too_long_is_not_simplified(impatient: None) -> None:
    long = parse_expr("t % 2 == 1 or t % 2 == 0")
    assert unsettled().simplify(long, dom("t")) == long


def test_with_patience_it_is() -> None:
    short = unsettled().simplify(parse_expr("t % 2 == 1 or t % 2 == 0"), dom("t"))
    assert show(short) == "true"


def test_patience_is_for_the_whole_question() -> None:
    frame = IslFrame(("T",))
    assert frame.limited(10**6, lambda: frame.limited(1, lambda: 5)) == 5


def test_programs_mean_the_same_without_patience(impatient: None) -> None:
    agree(RING, *all_equal(RING, 1, 2, 5, 8))


def test_stores_are_no_rings_without_patience(impatient: None) -> None:
    assert RING_OF_3 not in extents()


def test_with_patience_one_is() -> None:
    assert RING_OF_3 in extents()


def extents() -> set[Expr]:
    """How many slots the stores have along ``t``."""
    _, loaded = compile_text(RING, 0)
    return {axis.size for store in loaded.program.stores for axis in store.axes}
