"""Each rule of a graph, broken once."""

from __future__ import annotations

import pytest

from tempoc.poly.relations.space import Space
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.verification.verify import VerifyError, verify

GOOD = """
sdg test
bound T
dim s < T
dim t < T
%x = input{dtype=f32} : [t] f32
%h.0 = copy %x[0] : [] f32
%h.1 = add %h, %x : [t | t+1 < T] f32
%h = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32
%y = sum %h[0:t+1] : [t] f32
output y = %y[0:T]
group a = %h.0
group b = %h.1
group c = %y
"""
BROKEN = [
    ("%x = input", "%x.+ = input", None),
    ("[t] f32\n%h.0", "[t, s] f32\n%h.0", "unordered or unknown dimensions"),
    ("[t | t+1 < T]", "[t | s+1 < T]", "condition of the domain uses `s`"),
    ("[t | t+1 < T]", "[t | t+1]", "is no affine condition"),
    ("add %h, %x", "add %h[t, t], %x", "has 2 entries for 1 dimensions of h"),
    ("add %h, %x", "add %h[s], %x", "entry `s` uses `s`"),
    ("add %h, %x", "add %h[t*t], %x", "is not affine"),
    ("add %h, %x", "add %h when t >= 1, %x", "has a guard on an operand"),
    ("add %h, %x", "add %h@1, %x", "reads output 1 of h"),
    ("add %h, %x", "add %h, %x[t+2]", "reads x at"),
    (
        "sum %h[0:t+1] : [t] f32",
        "sum %h[0:t+1] : [t] i32",
        "has type i32, but its operator gives f32",
    ),
    ("sum %h[0:t+1] : [t] f32", "copy %h[0:t+1] : [t] f32[t]", "gives f32[t+1]"),
    ("sum %h[0:t+1] : [t] f32", "copy %h[0:t+1] : [t] f32[s]", "extent `s` uses `s`"),
    ("sum %h[0:t+1]", "sum{axes=(1,)} %h[0:t+1]", "has no axis 1"),
    ("copy %x[0]", "index{expr=t}", "attribute `t` uses `t`"),
    ("when t == 0", "when t <= 1", "overlaps earlier ones"),
    ("when t >= 1", "when t >= 2", "has no branch at some points"),
    ("when t == 0", "when t+1", "is no affine condition"),
    ("(0,), (t+1,)", "(0,), (t,)", "is not what the branch reads"),
    ("(0,), (t+1,)", "(0,), (s,)", "target uses `s`"),
    ("(0,), (t+1,)", "(0,),", "has not one target a branch"),
    ("%h.0 = copy %x[0]", "%h.0 = input{dtype=f32}", "branch h.0 is not computed"),
    ("output y = %y[0:T]", "output y = %y[t]", "entry `t` uses `t`"),
    ("output y = %y[0:T]", "output y = %y[T]", "reads outside at [1]"),
    ("output y = %y[0:T]", "output y = %y[0:T]\noutput y = %x[0]", "two have one name"),
    ("group b = %h.1\n", "", "do not partition"),
    ("group b = %h.1", "group a = %h.1", "two have one name"),
    ("group b = %h.1\ngroup c = %y", "group b = %h.1, %y", "members of other domains"),
]


def check(text: str) -> None:
    graph = parse_graph(text.lstrip(), "test.sdg")
    verify(graph, Space(graph.universe), after="a pass")


def test_a_good_graph() -> None:
    check(GOOD)


@pytest.mark.parametrize(("old", "new", "why"), [b for b in BROKEN if b[2]])
def test_a_broken_graph(old: str, new: str, why: str) -> None:
    assert old in GOOD
    with pytest.raises(VerifyError) as caught:
        check(GOOD.replace(old, new))
    assert why in str(caught.value)
    assert str(caught.value).endswith("(after a pass)")


INDEXED = """
sdg test
bound T
bound N = 3
dim t < T
dim n < N
%x = input{dtype=f32} : [t] f32
%w = input{dtype=f32, shape=(4,)} : [n] f32[4]
%j = input{dtype=i32} : [] i32
%a = getitem{entries=(t,)} %x[0:T] : [t] f32
%b = getitem{entries=(n, 3)} %w[0:N] : [n] f32
%c = getitem{entries=((1, n, 1),)} %w : [n] f32[n]
%d = pick{lo=0, hi=T} %x[0:T], %j : [] f32
output a = %a[0:T]
"""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("entries=(t,)", "entries=(t+1,)", "leaves an axis where `t+1 < T`"),
        ("entries=(t,)", "entries=(t-1,)", "leaves an axis where `0 <= t-1 and"),
        ("entries=(n, 3)", "entries=(n, 4)", "leaves an axis where `false`"),
        ("entries=(n, 3)", "entries=(n+1, 3)", "leaves an axis where `n+1 < N`"),
        ("(1, n, 1)", "(3, n, 1)", "leaves an axis where `n <= 0 or n+2 < 4`"),
        ("hi=T", "hi=T+1", "leaves an axis"),
    ],
)
def test_indices_of_axes(old: str, new: str, why: str) -> None:
    check(INDEXED)
    assert old in INDEXED
    with pytest.raises(VerifyError) as caught:
        check(INDEXED.replace(old, new))
    assert why in str(caught.value)


def test_nodes_that_were_right_are_looked_at_again_among_other_sources() -> None:
    """In the same space, as after a pass: `y` is as it was, but what it reads is not."""
    good = parse_graph(GOOD, "test.sdg")
    space = Space(good.universe)
    verify(good, space)
    verify(good, space)
    for old, new in (("[t] f32\n%h.0", "[t | t+1 < T] f32\n%h.0"), ("{dtype=f32}", "{dtype=i32}")):
        with pytest.raises(VerifyError):
            verify(parse_graph(GOOD.replace(old, new), "test.sdg"), space)
    verify(good, space)
