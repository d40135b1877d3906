"""The text of schedules, and trees without anything to remove."""

from __future__ import annotations

import pytest

from tempoc.schedule.clean import EMPTY, guard, loop, sequence
from tempoc.schedule.text import show
from tempoc.schedule.tree import Execute, TreeLoop, loops, walk
from tempoc.symbolic.expr import FALSE, TRUE, Const, Sym
from tempoc.symbolic.parse import parse_expr
from tests.schedule.schedule_text import parse

TEXT = """\
h.0
for t in 0..T by 4:
  x[t, min(T-1, t)]
  if t >= 7 and t % 2 == 0:
    g[t-7]
for t in reversed 1..T-1 on device:
  for l in reversed 0..L by 2 unrolled:
    dx[t, l]
"""


def test_round_trip() -> None:
    assert show(parse(TEXT)) == TEXT


def test_reversed_loops_count_down() -> None:
    found = parse("for t in reversed 0..T:\n  x[t]\n")
    assert isinstance(found, TreeLoop)
    assert (found.lower, found.upper, found.step) == (Sym("T") - 1, Const(-1), -1)


@pytest.mark.parametrize(
    "text", ["for t in 0..T\n  x[t]", "  x", "if t:\n    x", "x y", "for t in T:\n  x"]
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def x(text: str) -> Execute:
    return Execute(statement="x", point=(parse_expr(text),))


def test_loops_that_run_once_or_never() -> None:
    t, big = Sym("t"), Sym("T")
    assert loop("t", big, big + 1, 1, x("t+1")) == x("T+1")
    assert loop("t", big, big, 1, x("t")) == EMPTY
    assert loop("t", big - 1, big - 2, -1, x("t")) == x("T-1")
    assert loop("t", Const(0), t, 1, EMPTY) == EMPTY


def test_guards_and_sequences() -> None:
    a, b = parse_expr("t >= 3"), parse_expr("t <= 2")
    assert guard(TRUE, x("t")) == x("t")
    assert guard(FALSE, x("t")) == EMPTY
    assert guard(a, guard(b, x("0"))) == guard(parse_expr("t >= 3 and t <= 2"), x("0"))
    assert sequence([guard(a, x("0")), guard(a, x("1"))]) == guard(a, sequence([x("0"), x("1")]))
    both = sequence([guard(a, sequence([x("0"), x("2")])), guard(b, sequence([x("1"), x("2")]))])
    assert both == sequence([guard(a, x("0")), guard(b, x("1")), x("2")])
    assert sequence([sequence([x("0")]), EMPTY]) == x("0")


def test_walk_knows_the_loops_around() -> None:
    around = {
        part.statement: [loop.var for loop in outer]
        for part, outer in walk(parse(TEXT))
        if isinstance(part, Execute)
    }
    assert around == {"h.0": [], "x": ["t"], "g": ["t"], "dx": ["t", "l"]}
    assert [loop.var for loop in loops(parse(TEXT))] == ["t", "t", "l"]
