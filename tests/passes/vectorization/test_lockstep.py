"""Lockstep: which loops of their own become one, and that nothing changes its meaning."""

from __future__ import annotations

import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.domain.reduce_domain import ReduceDomain
from tempoc.passes.vectorization.lockstep import Lockstep
from tempoc.poly.relations.space import Space
from tests.support.elaborated import graph_of
from tests.support.generators.graphs import Story
from tests.support.golden import Golden

HEAD = """
bound I
bound K until stop over i
dim i < I
dim k < K
%a = input{dtype=f32} : [i] f32
%stop = input{dtype=bool} : [i, k] bool
%end = until{bound="K"} %stop : [i, k]
%x.0 = copy %a : [i] f32
%x.1 = tanh %x : [i, k | k < K-1] f32
%x = merge{targets=((i, 0), (i, k+1))} %x.0 when k == 0, %x.1[i, k-1] when k >= 1 : [i, k] f32
"""
TOGETHER = {
    "the last state": "%y = exp %x[i, K-1] : [i] f32\noutput y = %y[0:I]\n",
    "the length": "%n = index{expr=2*K-1} : [i] i32\noutput n = %n[0:I]\n",
    "a sum of all steps": "%s = sum{axes=(0,)} %x[i, 0:K] : [i] f32\noutput s = %s[0:I]\n",
}
APART = {
    "needs to know which step is the last": "y[i, k] = x[i, k+1] when k < K-1\n"
    "y[i, K-1] = 0.0\nz[i] = sum(y[i, 0:K])\noutput z\n",
    "`y` needs to know which step": "y[i, k] = x when k == K-1 and k >= 1\n"
    "y[i, k] = 5.0 when k == K-1 and k < 1\ny[i, k] = y[i, k+1] + x when k < K-1\n"
    "z[i] = y[i, 0]\noutput z\n",
    "`y.index` needs to know": "y[i, k] = x * k when k == K-1\n"
    "y[i, k] = y[i, k+1] + x when k < K-1\nz[i] = y[i, 0]\noutput z\n",
    "has an effect at each step": "print x[i, k]\n",
    "counts from the last step": "y[i] = sum((x[i, k] * (K - k))[k = 0:K])\noutput y\n",
    "combines values of all steps": "y[i] = mean(x[i, 0:K])\noutput y\n",
    "moves values of all steps": "y[i] = sum(cumsum(x[i, 0:K]))\noutput y\n",
    "the extents of `p` grow with it": "p[i, k] = x[i, 0:k+1] * 2.0\n"
    "y[i] = sum(p[i, K-1])\noutput y\n",
    "an assumption is about the length of each": "assume K >= 2\ny[i] = sum(x[i, 0:K])\noutput y\n",
    "its points depend on each other": "output x[0, 0] as y\n",
}
SOURCE = """dim i < I
dim k < K until stop
input a[i]: f32
x[i, 0] = a
x[i, k+1] = 0.5 * x
stop[i, k] = x < 0.1
"""


def test_lockstep(golden: Golden) -> None:
    story = Story()
    for name, text in TOGETHER.items():
        outcome = story.tell(name, HEAD + text, Lockstep())
        assert not any(b.outer for b in outcome.graph.universe.bounds), name
    golden("passes/lockstep.txt", story.text)


@pytest.mark.parametrize("why", APART)
def test_what_stays_apart(why: str) -> None:
    head = SOURCE
    if why == "its points depend on each other":
        first = "x[0, 0] = a[0]\nx[i, 0] = z[i-1] when i >= 1"
        head = head.replace("x[i, 0] = a", first)
        head += "z[i] = x[i, K-1]\n"
    before = graph_of(head + APART[why])
    context = PassContext(Space(before.universe))
    assert Lockstep().run(before, context) is before
    assert why in " ".join(r.message for r in context.remarks.entries)


@pytest.mark.parametrize(("last", "moves"), [("x * 2.0", False), ("sum(x * ones([8]))", True)])
def test_what_only_last_steps_need_moves_behind_them(last: str, moves: bool) -> None:
    graph = graph_of(f"{SOURCE}z[i, k] = {last}\ny[i] = z[i, K-1]\noutput y\n")
    after = ReduceDomain().run(graph, PassContext(Space(graph.universe)))
    assert ("k" not in after.nodes["z"].domain.dims) is moves
