"""Graphs compared with those that passes made of them, at small bounds."""

from __future__ import annotations

import pytest

from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.verification.equivalence import Equivalence
from tempoc.sdg.verification.verify import VerifyError

BEFORE = """
sdg test
bound T
bound P
dim t < T
dim p < P
assume P <= T
%x = input{dtype=f32} : [t] f32
%w = param{template="w", dtype=f32, shape=(2,)} : [] f32[2]
%j = input{dtype=i32} : [p] i32
%r.0 = copy %x[0] : [] f32
%r.1 = add %r[t-1], %x : [t | t >= 1] f32
%r = merge{targets=((0,), (t,))} %r.0 when t == 0, %r.1 when t >= 1 : [t] f32
%y = mul %r, %w : [t] f32[2]
%k = add %j, %j : [p] i32
%said = print{names=("k",), places=((("p", p),),)} %k : [p]
output y = %y[0:T]
output k = %k[0:P]
"""


def graph(text: str) -> Graph:
    return parse_graph(text.lstrip(), "test.sdg")


def test_bounds_keep_to_assumptions() -> None:
    tried = [dict(bounds) for bounds, _, _ in Equivalence(graph(BEFORE)).expected]
    assert tried == [dict.fromkeys(("T", "P"), n) for n in (1, 2, 5, 3)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("output y = %y[0:T]", "output y = %y[0:T]"),
        ("add %r[t-1], %x", "add %x, %r[t-1]"),
    ],
)
def test_the_same_meaning(old: str, new: str) -> None:
    assert old in BEFORE
    Equivalence(graph(BEFORE)).check(graph(BEFORE.replace(old, new)), "a pass")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("add %r[t-1], %x", "add %r[t-1], %x[t-1]", "y: has other values at {'T': 2"),
        ("%y = mul", "%y = add", "y: has other values at {'T': 1"),
        ("add %j, %j", "mul %j, %j", "k: has other values"),
        ("%x[0] : [] f32", "%x[1] : [] f32", "evaluation: fails at {'T': 1"),
        ("output k = %k[0:P]", "output l = %k[0:P]", "k: has other values"),
    ],
)
def test_another_meaning(old: str, new: str, why: str) -> None:
    assert old in BEFORE
    with pytest.raises(VerifyError) as caught:
        Equivalence(graph(BEFORE)).check(graph(BEFORE.replace(old, new)), "a pass")
    assert str(caught.value).startswith(why)
    assert str(caught.value).endswith("(after a pass)")


def test_what_is_large_is_left_out() -> None:
    large = BEFORE.replace("shape=(2,)", "shape=(40000000,)").replace("[2]", "[40000000]")
    assert Equivalence(graph(large)).expected == []
