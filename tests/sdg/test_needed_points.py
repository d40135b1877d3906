"""Where results of operators that check operands are read."""

from __future__ import annotations

import pytest

from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.needed_points import needed_points
from tempoc.symbolic.text import show
from tests.support.generators.graphs import graph

TEXT = """
bound T
bound K
dim t < T
dim k < K

%x = input{{dtype=f32, shape=(3,)}} : [t] f32[3]
%j = input{{dtype=i32}} : [t] i32
%p = getitem{{entries=("tensor",)}} %x, %j : [t] f32
{nodes}
output z = %z[{slices}]
"""
GUARDED = """
%e = exp %p : [t] f32
%q = exp %e : [t | t % 2 == 0] f32
%h = copy %e : [t | t % 2 != 0] f32
%z = merge{targets=((t,), (t,))} %q when t % 2 == 0, %h when t % 2 != 0 : [t] f32
"""
STATE = """
%s.0 = copy %j[0] : [] i32
%s.1 = cast{dtype=i32} %e : [t | t < T-1] i32
%s = merge{targets=((0,), (t+1,))} %s.0 when t == 0, %s.1[t-1] when t-1 >= 0 : [t] i32
%e = getitem{entries=("tensor",)} %x, %s : [t] f32
%z = cast{dtype=f32} %s : [t] f32
"""
CASES = {
    "everywhere": (GUARDED, "0:T", {}),
    "a branch": (GUARDED.replace("copy %e", "sum %x"), "0:T", {"p": "t % 2 == 0"}),
    "a state": (STATE, "0:T", {"e": "t < T-1", "p": "false"}),
    "later points": ("%z = sum %p[1:T] : [] f32", "", {"p": "t >= 1"}),
    "some bounds": ("%z = exp %p[0] : [k | k >= 2] f32", "2:K", {"p": "t == 0 and K >= 3"}),
}


@pytest.mark.parametrize("case", CASES)
def test_points_that_are_read(case: str) -> None:
    nodes, slices, expected = CASES[case]
    found = graph(TEXT.format(nodes=nodes.strip(), slices=slices).replace("[]\n", "\n"))
    needed = needed_points(found, Space(found.universe))
    assert {name: show(where) for name, where in needed.items()} == expected
