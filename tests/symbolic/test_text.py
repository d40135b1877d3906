"""Index expressions read as a person writes them, and read back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tempoc.symbolic.expr import LengthAt, Slice, Sym
from tempoc.symbolic.parse import parse, parse_expr, parse_list
from tempoc.symbolic.text import ExprPrinter, show, spelled
from tempoc.symbolic.walk import evaluate
from tests.support.session.long import examples
from tests.symbolic.entries import show_entries
from tests.symbolic.test_expr import EXPRESSIONS, POINTS


@pytest.mark.parametrize(
    "text",
    [
        "t+1",
        "t-1",
        "T-1-t",
        "T-t",
        "3-t",
        "-t",
        "-2",
        "4*t+3",
        "2*B*T",
        "4*(t//4)",
        "-(t//2)",
        "3-t//2",
        "(T+3)//4",
        "((T+3)//4)%2",
        "T//B",
        "-(T//B)",
        "(T+3)//(2*B*t)",
        "E*(T//(B+1))",
        "min(t+5, T)",
        "max(0, t-3)",
        "min(t, T)",
        "t >= 1 and t % 2 == 0",
        "(a < 1 or b < 2) and c < 3",
        "a < 1 or b < 2 and c < 3",
        "t != T-1",
        "true",
        "0:t+1",
        "max(0, t-3):t+1",
        "0:T:2",
    ],
)
def test_text_stays_as_it_is(text: str) -> None:
    assert show(parse(text)) == text


@settings(max_examples=examples(86, long=300), deadline=None)
@given(EXPRESSIONS)
def test_round_trip(built) -> None:
    """The same object; of a sum with several minima or maxima the value, for all points.

    What is added to one is taken into it, and which one depends on the order of the terms.
    """
    read = parse(show(built[0]))
    if read != built[0]:
        assert show(built[0]).count("min") + show(built[0]).count("max") > 1
        assert all(evaluate(read, env) == built[1](env) for env in POINTS)


@pytest.mark.parametrize("text", ["t +", "(t", "t ** 2", "t % n", "1:2:x", "min t", "t ? 1", ""])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_not_is_pushed_down() -> None:
    assert show(parse("not (t == 0 or t < n)")) == "t != 0 and t >= n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T-1-t", "T - 1 - t"),
        ("2*t-3", "2 * t - 3"),
        ("-t", "-t"),
        ("3-2*t*T", "3 - 2 * T * t"),
        ("(T+3)//4", "(T + 3) // 4"),
        ("(2*t)//3", "(2 * t) // 3"),
        ("max(0, t-4)%3", "max(0, t - 4) % 3"),
        ("t%2 == 0 and not t >= n", "t % 2 == 0 and t < n"),
        ("false", "False"),
    ],
)
def test_spelled_is_python(text: str, expected: str) -> None:
    e = parse_expr(text)
    assert spelled(e) == expected
    for point in ({"t": 0, "n": 2, "T": 5}, {"t": 4, "n": 3, "T": 6}, {"t": 3, "n": 9, "T": 4}):
        assert eval(spelled(e), dict(point)) == evaluate(e, point)


def test_lengths_at_points() -> None:
    e = LengthAt("T", (Sym("i") + 1,)) - 1
    assert (show(e), spelled(e)) == ("T[i+1]-1", "T[i + 1] - 1")
    assert ExprPrinter({LengthAt("T", (Sym("i") + 1,)): "T_end"}).text(e) == "T_end-1"


def test_entries_and_slices() -> None:
    assert show_entries((Sym("t"), Slice(Sym("a"), Sym("b")))) == "[t, a:b]"
    assert show_entries(()) == ""
    with pytest.raises(ValueError, match="slice"):
        parse_expr("0:t")


def test_lists() -> None:
    assert parse_list("") == ()
    assert parse_list("t, min(t-1, T), (a+b)*2") == tuple(
        map(parse_expr, ("t", "min(t-1, T)", "(a+b)*2"))
    )
    for text in ("t,", "t u", ",t", "0:t"):
        with pytest.raises(ValueError):
            parse_list(text)
