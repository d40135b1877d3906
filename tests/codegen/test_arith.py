"""Index expressions mean the same for the runner, and read well."""

from __future__ import annotations

import pytest

from tempoc.codegen.text.arithmetic import to_arith
from tempoc.program.nodes import arithmetic as arith
from tempoc.symbolic.text import parse
from tempoc.symbolic.walk import evaluate

TEXTS = [
    ("t+1", "t + 1"),
    ("T-1-t", "T - t - 1"),
    ("2*t-3", "2 * t - 3"),
    ("min(t+n, T)", "min(T, n + t)"),
    ("max(0, t-4)//3", "max(0, t - 4) // 3"),
    ("t%2 == 0 and not t >= n", "t % 2 == 0 and t < n"),
    ("t == 0 or t == 3", "t == 0 or t == 3"),
    ("-t", "(-1) * t"),
]


@pytest.mark.parametrize(("source", "shown"), TEXTS)
def test_same_value_and_readable_text(source, shown):
    e = parse(source)
    converted = to_arith(e)
    for point in ({"t": 0, "n": 2, "T": 5}, {"t": 4, "n": 3, "T": 6}, {"t": 3, "n": 9, "T": 4}):
        assert arith.evaluate(converted, point) == evaluate(e, point)
    assert sorted(arith.text(converted).split()) == sorted(shown.split())
