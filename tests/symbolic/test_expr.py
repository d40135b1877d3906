"""Canonical forms: equal polynomials are equal objects, and nothing changes its value."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from tempoc.symbolic import walk
from tempoc.symbolic.expr import (
    FALSE,
    TRUE,
    Const,
    Expr,
    FloorDiv,
    LengthAt,
    Sym,
    compare,
    floordiv,
    interval,
    maximum,
    minimum,
    mod,
    negation,
    sub,
)
from tempoc.symbolic.parse import parse_expr as p
from tempoc.symbolic.walk import evaluate, substitute, symbols
from tests.support.session.long import examples

NAMES = ("t", "l", "T")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("t+1-t", "1"),
        ("2*(t+T) - T", "2*t+T"),
        ("min(t+n, T) - t", "min(n, T-t)"),
        ("t - min(t, T)", "max(0, t-T)"),
        ("min(3, T-t) + max(T+1, T+T-2-(T-t-t)-t)", "min(3, T-t) + max(T+1, T+t-2)"),
        ("min(3, T-t) + max(T+1, 4+t)", "T+4"),
        ("2*t + min(3, T-t) - min(2, T-t-1)", "2*t+1"),
        ("max(0, t) + min(-t, -T) + max(t, T)", "t"),
        ("max(0, t+1)", "t+1"),
        ("min(t, t+n)", "t"),
        ("(4*t+3)//4", "t"),
        ("(2*t+3)//4", "(t+1)//2"),
        ("(t % 2)//2", "0"),
        ("(t+4) % 4", "t % 4"),
        ("(t % 4) % 8", "t % 4"),
        ("B*T - T*B", "0"),
        ("(t+1)*(T+1)", "T*t+t+T+1"),
        ("max(3, t, 5)", "max(t, 5)"),
    ],
)
def test_equal_forms_are_one_object(a: str, b: str) -> None:
    assert p(a) == p(b)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("t >= 0", TRUE),
        ("t+1 > 0", TRUE),
        ("t < 0", FALSE),
        ("t == t+1", FALSE),
        ("t % 4 < 4", TRUE),
        ("t+1 == 0", FALSE),
    ],
)
def test_conditions_decided_by_sign(text: str, truth: Expr) -> None:
    assert p(text) == truth


@pytest.mark.parametrize("text", ["t <= 0", "t == 0", "t > 0", "t % 4 < 3", "T >= 1", "t < T"])
def test_conditions_left_open(text: str) -> None:
    assert p(text) not in (TRUE, FALSE)


def test_division_by_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        floordiv(Sym("t"), 0)
    with pytest.raises(ValueError, match="positive"):
        mod(Sym("t"), -2)


# An expression as a person builds it, with its value computed beside it by Python itself.
Built = tuple[Expr, object]


def _leaf() -> st.SearchStrategy:
    names = st.sampled_from(NAMES).map(lambda n: (Sym(n), lambda env, n=n: env[n]))
    return names | st.integers(-4, 4).map(lambda v: (Const(v), lambda env, v=v: v))


def _node(inner: st.SearchStrategy) -> st.SearchStrategy:
    pairs = st.tuples(inner, inner)

    def two(build, meaning):
        return pairs.map(
            lambda ab: (
                build(ab[0][0], ab[1][0]),
                lambda env: meaning(ab[0][1](env), ab[1][1](env)),
            )
        )

    def by(build, meaning):
        return st.tuples(inner, st.integers(1, 5)).map(
            lambda ak: (build(ak[0][0], ak[1]), lambda env: meaning(ak[0][1](env), ak[1]))
        )

    return st.one_of(
        two(lambda a, b: a + b, lambda a, b: a + b),
        two(sub, lambda a, b: a - b),
        two(minimum, min),
        two(maximum, max),
        by(lambda a, k: a * k, lambda a, k: a * k),
        by(floordiv, lambda a, k: a // k),
        by(mod, lambda a, k: a % k),
    )


EXPRESSIONS = st.recursive(_leaf(), _node, max_leaves=6)
POINTS = [dict(zip(NAMES, v, strict=True)) for v in product((0, 1, 2, 5), repeat=len(NAMES))]


@settings(max_examples=examples(86, long=300), deadline=None)
@given(EXPRESSIONS)
def test_simplification_keeps_the_value(built) -> None:
    e, meaning = built
    for env in POINTS:
        assert evaluate(e, env) == meaning(env)


@settings(max_examples=examples(57, long=200), deadline=None)
@given(EXPRESSIONS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), EXPRESSIONS)
def test_comparisons_and_their_complements(a, op, b) -> None:
    c = compare(op, a[0], b[0])
    for env in POINTS:
        truth = eval(f"x {op} y", {"x": a[1](env), "y": b[1](env)})
        assert evaluate(c, env) == truth
        assert evaluate(negation(c), env) == (not truth)


@settings(max_examples=examples(57, long=200), deadline=None)
@given(EXPRESSIONS)
def test_intervals_hold(built) -> None:
    low, high = interval(built[0])
    for env in POINTS:
        value = built[1](env)
        assert low is None or low <= value
        assert high is None or value <= high


@settings(max_examples=examples(57, long=200), deadline=None)
@given(EXPRESSIONS, EXPRESSIONS)
def test_substitution_commutes_with_evaluation(a, b) -> None:
    replaced = substitute(a[0], {"t": b[0]})
    for env in POINTS:
        value = b[1](env)
        if value >= 0:  # what a symbol stands for is never negative
            assert evaluate(replaced, env) == a[1]({**env, "t": value})


def test_symbols_come_once_in_order() -> None:
    assert sorted(symbols(p("T + 2*min(t, n) + t"))) == ["T", "n", "t"]
    assert symbols(p("t//2 + t")) == ("t",)
    assert isinstance(p("t//2"), FloorDiv)


def test_a_length_at_a_point() -> None:
    e = LengthAt("T", (Sym("i"),)) + Sym("i")
    assert symbols(e) == ("i", "T")
    assert evaluate(e, {"T": 9, "i": 2}) == 11  # no table: as long as the bound
    assert evaluate(e, {"T": 9, "T[]": {2: 4}, "i": 2}) == 6
    assert substitute(e, {"i": Const(1)}) == LengthAt("T", (Const(1),)) + 1
    assert substitute(e, {"T": Sym("T_max")}) == Sym("T_max") + Sym("i")


def test_a_substitution_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Expr] = []
    rebuilt = walk.rebuilt

    def counted(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
        made.append(e)
        return rebuilt(e, change)

    monkeypatch.setattr(walk, "rebuilt", counted)
    e = p("once + t")
    assert substitute(e, {"l": Sym("T")}) is e and not made
    assert {substitute(e, {"once": p("l"), "T": Const(k)}) for k in range(3)} == {p("l + t")}
    assert made == [e]
