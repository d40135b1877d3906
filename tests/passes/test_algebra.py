"""Identities fire where they hold for every number, and only there."""

from __future__ import annotations

import pytest

from tempoc.passes.algebra import Algebra
from tempoc.passes.rules import ROWS
from tests.support.golden import Golden
from tests.support.graphs import Story, graph

HEAD = """
bound T
dim t < T
%x = input{dtype=f32, shape=(2, 3)} : [t] f32[2, 3]
%k = input{dtype=i32} : [t] i32
%c = input{dtype=bool} : [t] bool
%zero = literal{value=0.0, dtype=f32} : [] f32
%minus = literal{value=-0.0, dtype=f32} : [] f32
%one = literal{value=1.0, dtype=f32} : [] f32
%none = literal{value=0, dtype=i32} : [] i32
%unit = literal{value=1, dtype=i32} : [] i32
%yes = literal{value=true, dtype=bool} : [] bool
"""
FIRING = {
    "x + 0 = x": "%a = add %none, %k : [t] i32\n%b = add %x, %minus : [t] f32[2, 3]",
    "x - 0 = x": "%a = sub %x, %zero : [t] f32[2, 3]",
    "x * 1 = x": "%a = mul %one, %x : [t] f32[2, 3]",
    "x / 1 = x": "%a = div %x, %one : [t] f32[2, 3]",
    "x ** 1 = x": "%a = power %k, %unit : [t] i32",
    "whole x * 0 = 0": "%a = mul %k, %none : [t] i32",
    "-(-x) = x": "%n = neg %x : [t] f32[2, 3]\n%a = neg %n[T-1-t] : [t] f32[2, 3]",
    "not not x = x": "%n = not %c : [t] bool\n%a = not %n[0:t+1] : [t] bool[t+1]",
    "f(x, x) = x": "%a = maximum %x, %x : [t] f32[2, 3]\n%b = and %c, %c : [t] bool",
    "where(c, x, x) = x": "%a = where %c, %x, %x : [t] f32[2, 3]",
    "where(true, x, y) = x": "%a = where %yes, %k, %unit : [t] i32",
    "a cast to its own dtype": "%a = cast{dtype=f32} %x : [t] f32[2, 3]",
    "a cast of a lossless cast": """%n = cast{dtype=f64} %x : [t] f64[2, 3]
%a = cast{dtype=f32} %n : [t] f32[2, 3]
%b = cast{dtype=i32} %n : [t] i32[2, 3]""",
    "a transpose that keeps the order": "%a = transpose{axes=(0, 1)} %x : [t] f32[2, 3]",
    "a transpose of a transpose": """%n = transpose{axes=(2, 0, 1)} %x[0:t+1] : [t] f32[3, t+1, 2]
%a = transpose{axes=(0, 2, 1)} %n : [t] f32[3, 2, t+1]""",
    "a shape that is there already": "%a = reshape{shape=(2, 3)} %x : [t] f32[2, 3]",
    "a reshape of a reshape": """%n = reshape{shape=(6,)} %x : [t] f32[6]
%a = reshape{shape=(3, 2)} %n : [t] f32[3, 2]
%b = reshape{shape=(2, 3)} %n : [t] f32[2, 3]""",
    "a squeeze of a new axis": """%n = expand_dims{axis=1} %x : [t] f32[2, 1, 3]
%a = squeeze{axes=(1,)} %n : [t] f32[2, 3]""",
}
SILENT = {
    "a zero of the other sign": "%a = add %x, %zero : [t] f32[2, 3]",
    "minus a zero of the other sign": "%a = sub %x, %minus : [t] f32[2, 3]",
    "zero times a number that may not be finite": "%a = mul %x, %zero : [t] f32[2, 3]",
    "a number minus itself": "%a = sub %x, %x : [t] f32[2, 3]",
    "whole division gives floats": "%a = div %k, %unit : [t] f32",
    "a cast that loses": """%n = cast{dtype=f16} %x : [t] f16[2, 3]
%a = cast{dtype=f32} %n : [t] f32[2, 3]""",
    "zero minus a number": "%a = sub %zero, %x : [t] f32[2, 3]",
    "two reads of different points": "%a = maximum %x, %x[T-1-t] : [t] f32[2, 3]",
}


def program(lines: str) -> str:
    names = [line.split()[0] for line in lines.splitlines() if not line.startswith("%n ")]
    used = {word.strip(",").split("[")[0] for word in lines.split()}
    head = [h for h in HEAD.splitlines() if not h.startswith("%") or h.split()[0] in used]
    outputs = [f"output {n[1:]} = {n}[0]" for n in names]
    return "\n".join([*head, lines, *outputs, ""])


def test_algebra(golden: Golden) -> None:
    assert list(FIRING) == [row.name for row in ROWS]
    story = Story()
    for name, lines in FIRING.items():
        outcome = story.tell(name, program(lines), Algebra())
        assert {r.message.split(": ")[1] for r in outcome.remarks} == {name}
    golden("passes/algebra.txt", story.text)


@pytest.mark.parametrize("name", SILENT)
def test_what_is_no_identity_stays(name: str) -> None:
    text = program(SILENT[name])
    assert Story().tell(name, text, Algebra()).remarks == ()
    assert graph(text).nodes["a"].op.name != "copy"
