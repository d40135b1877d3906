"""Quotients of extents, by which `-1` in a shape is found."""

from __future__ import annotations

import pytest

from tempoc.ops.tensor.reshape import quotient
from tempoc.symbolic.expr import mul
from tempoc.symbolic.parse import parse
from tempoc.symbolic.walk import evaluate

POINTS = [{"i": i, "j": j, "T": T} for T in (1, 2, 5) for i in range(T) for j in range(T)]


@pytest.mark.parametrize("part", ["1", "2", "T", "i+1", "T*(i+1)", "i-j"])
@pytest.mark.parametrize("rest", ["3", "T-i", "(i-i%3)//3+1", "min(j+2, T)-max(0, j-1)"])
def test_of_a_product(rest: str, part: str) -> None:
    total = mul(parse(rest), parse(part))
    found = quotient(total, parse(part))
    if found is None:  # a `min` that was moved into a sum hides the factor
        assert "min" in rest
        return
    for at in POINTS:
        assert evaluate(found, at) * evaluate(parse(part), at) == evaluate(total, at)


def test_ends_beside_min_and_max() -> None:
    total = mul(parse("(i-i%3)//3+1"), parse("min(j+2, T)-max(0, j-1)"))
    found = quotient(total, parse("1"))
    assert found is not None
    assert all(evaluate(found, at) == evaluate(total, at) for at in POINTS)


def test_a_rest_is_left() -> None:
    assert quotient(parse("T+1"), parse("T")) is None
    assert quotient(parse("3*T"), parse("2")) is None
