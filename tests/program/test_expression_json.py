"""The JSON form of index expressions: it comes back as it is, and damage is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from tempoc.program.expression_json import from_json, to_json
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.parse import parse_expr
from tempoc.symbolic.walk import evaluate
from tests.support.session.long import examples
from tests.symbolic.test_expr import EXPRESSIONS

TEXTS = [
    "3", "-3", "t", "t+1", "t-1", "T-1-t", "T-2*t+3*n", "t*T*n-4", "-t", "-2*(t//2)", "(T+3)//4",
    "4*(T//4)", "(t%3)%2", "min(t, T+5)", "max(0, t-4)//3", "T-min(t, n)", "T//n", "(T+3)//(2*n)",
    "max(0, t-n)-min(2*t, T)", "max(0, t-n)+2*min(3, T)", "1 <= t and t % 2 == 0",
    "t < T and t > 0 or t != 2", "not t < n", "true", "false",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_expressions_come_back(text: str) -> None:
    e = parse_expr(text)
    assert from_json(json.loads(json.dumps(to_json(e)))) is e


@settings(max_examples=examples(86, long=300), deadline=None)
@given(EXPRESSIONS)
def test_round_trip(built: tuple[Expr, object]) -> None:
    assert from_json(to_json(built[0])) is built[0]


OPERATORS = [
    (["+"], 0), (["*"], 1), (["+", 2, ["*", -1, "t"]], 1), (["-", "t", ["-", "t", 3]], 3),
    (["*", ["+", "t", 1], "T"], 6), (["//", ["*", 4, "T"], 3], 4), (["%", ["-", "t", 2], 3], 2),
    (["min", "T"], 3), (["max", "t", 7, "T"], 7), (["and"], 1), (["or"], 0),
    (["not", ["not", ["<", "t", "T"]]], 1), (["==", ["<", "t", "T"], 1], 1),
    (["or", ["<", "T", "t"], ["and", [">", "t", 0], ["!=", "t", "T"]]], 1),
    (["//", "T", "t"], 3), (["//", 7, ["-", "t", "T"]], 7),
    (["at", "T", 4], 3), (["at", "T", "t", ["+", "t", 1]], 9), (["at", "N", "t"], 2),
]  # fmt: skip


@pytest.mark.parametrize(("data", "value"), OPERATORS)
def test_operators(data: object, value: int) -> None:
    lengths = {(1, 2): 9, 4: 3}
    assert evaluate(from_json(data), {"t": 1, "T": 3, "T[]": lengths, "N": 2}) == value


@pytest.mark.parametrize(
    "data",
    [
        True, 1.5, None, [], ["^", 1, 2], ["-", 1], ["min"], "a b", "", ["not"], {"a": 1}, [1, 2],
        ["//", "t", 0], ["%", "t", "T"], ["//", "t", True], ["at", "T"], ["at", 3, "t"],
        "__import__('os')", ["<", "t"], ["+", "t", True],
    ],
)  # fmt: skip
def test_damaged_json_is_refused(data: object) -> None:
    with pytest.raises(ValueError):
        from_json(data)
