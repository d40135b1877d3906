"""Sums over domains as polynomials of the bounds: equal to the sums over all points."""

from __future__ import annotations

import pytest

from tempoc.poly.relations.domain_sum import DomainSums
from tempoc.symbolic.parse import parse_expr
from tempoc.symbolic.simplify import in_terms
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate
from tests.poly.relations.worlds import bounds, dom, points, space

CASES = (
    ("1", "t", "true"),
    ("2*(t+1)", "t", "true"),
    ("t+1", "t", "t >= 1"),
    ("min(t+1, 3)", "t", "true"),
    ("max(0, min(t+3, T)-t)*n", "tn", "true"),
    ("min(t+1, P)*max(t, l)", "tl", "true"),
    ("(t+1)*(T-t)*l", "tl", "t == 0 or t >= 2"),
    ("t*l", "tl", "l <= t and t <= P"),
    ("max(0, min(4*n+4, T)-4*n)", "n", "true"),
    ("max(0, min(4*n+4, t+1)-4*n)*5 + t", "tn", "true"),
    ("t*t", "t", "t % 3 == 1"),
    ("t//2 + t%3", "t", "t != 2"),
    ("7", "t", "t >= 4 and t <= 2"),
    ("5", "", "true"),
    ("P", "", "T >= 3"),
)


@pytest.mark.parametrize(("e", "dims", "where"), CASES)
def test_sums_are_those_of_all_points(e: str, dims: str, where: str) -> None:
    value, domain = parse_expr(e), dom(dims, where)
    formula = DomainSums(space()).over(value, domain)
    assert formula.exact
    for env in bounds(range(1, 14)):
        expected = sum(evaluate(value, here) for here in points(domain, env))
        assert formula.at(env) == expected, env


@pytest.mark.parametrize(
    ("e", "dims", "where", "text"),
    [
        ("2*(t+1)", "t", "true", "T^2 + T"),
        ("t+1", "t", "t >= 1", "T^2/2 + T/2 - 1"),
        ("min(t+1, 3)", "t", "true", "3*T - 3 if T >= 2; 1 if T < 2"),
        ("max(0, min(4*n+4, T)-4*n)", "n", "true", "T"),
        ("t", "t", "t <= P", "P^2/2 + P/2 if T > P; T^2/2 - T/2 if P == T"),
        ("l", "tl", "true", "3*T"),
    ],
)
def test_formulas_are_readable(e: str, dims: str, where: str, text: str) -> None:
    sums = DomainSums(space())
    rows = sums.aligned([sums.over(parse_expr(e), dom(dims, where))])
    texts = [in_terms(f) + (f" if {show(c)}" if len(rows) > 1 else "") for c, (f,) in rows]
    assert "; ".join(texts) == text


def test_what_is_no_polynomial_is_bounded() -> None:
    sums = DomainSums(space())
    formula = sums.over(parse_expr("t//17"), dom("t"))
    assert not formula.exact
    for t in (1, 16, 40):
        env = {"T": t, "L": 3, "N": (t + 3) // 4, "P": 1}
        assert formula.at(env) >= sum(k // 17 for k in range(t))


def test_sums_of_formulas() -> None:
    sums = DomainSums(space())
    parts = [sums.over(parse_expr(e), dom("t", w)) for e, w in (("t", "t >= 1"), ("3", "t == 2"))]
    total = sums.added(parts)
    for env in bounds():
        assert total.at(env) == sum(f.at(env) for f in parts)
