"""Elements of arrays that other points make: only what is read of them is computed."""

from __future__ import annotations

import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.simplify.element_reads import ElementReads
from tempoc.poly.relations.space import Space
from tests.support.generators.graphs import Story, assert_same, graph
from tests.support.golden import Golden

HEAD = """
bound N
dim t < N
%x = input{dtype=f32} : [t] f32
%j = input{dtype=i32} : [t] i32
%w = input{dtype=f32, shape=(2,)} : [t] f32[2]
"""
MADE = {
    "products with a range": """%c = sin %x : [t] f32
%m = mul %c, %x[0:t] : [t] f32[t]
%p = pad{widths=((0, N-1-t),)} %m : [t] f32[N-1]
%e = getitem{entries=((0, N-1-t, 1), t)} %p[t+1:N] : [t | t < N-1] f32[N-1-t]
%s = sum{axes=(0,)} %e : [t | t < N-1] f32
output s = %s[0:N-1]
""",
}
MADE["products with a range that begins after the point"] = """%c = sin %x : [t] f32
%m = mul %c, %x[t+1:N] : [t] f32[N-1-t]
%p = pad{widths=((0, t),)} %m : [t] f32[N-1]
%r = arange{stop=-1, start=t-1, step=-1} : [t | t >= 1] i32[t]
%i = expand_dims{axis=1} %r : [t | t >= 1] i32[t, 1]
%e = take_along{axis=1, sure=true} %p[0:t], %i : [t | t >= 1] f32[t, 1]
%q = squeeze{axes=(1,)} %e : [t | t >= 1] f32[t]
%s = sum{axes=(0,)} %q : [t | t >= 1] f32
output s = %s[1:N]
"""
MADE[
    "contractions with a range, reshaped and scaled"
] = """%d = einsum{spec="h,s->hs"} %w, %x[0:t+1] : [t] f32[2, t+1]
%c = einsum{spec="hs,h->sh"} %d, %w : [t] f32[t+1, 2]
%r = reshape{shape=(t+1, 1, 2)} %c : [t] f32[t+1, 1, 2]
%m = mul %r, %x : [t] f32[t+1, 1, 2]
%p = pad{widths=((0, N-1-t), (0, 0), (0, 0))} %m : [t] f32[N, 1, 2]
%e = getitem{entries=((0, N-t, 1), t, (0, 1, 1), (0, 2, 1))} %p[t:N] : [t] f32[N-t, 1, 2]
%s = sum{axes=(0,)} %e : [t] f32[1, 2]
output s = %s[0:N]
"""
SENT = """%z = index{expr=t//2} : [t] i32
%h = pick{lo=0, hi=t} %x[0:t], %z : [t | t >= 1] f32
%m = scatter_add{axis=0, n=t} %h, %z : [t | t >= 1] f32[t]
%p = pad{widths=((0, N-1-t),)} %m : [t | t >= 1] f32[N-1]
%e = getitem{entries=((0, N-1-t, 1), t)} %p[t+1:N] : [t | t < N-1] f32[N-1-t]
%s = sum{axes=(0,)} %e : [t | t < N-1] f32
output s = %s[0:N-1]
output h = %h[1:N]
"""
MADE["what positions send that are promised"] = SENT
MADE["exponentials that something else reads"] = """%m = mul %x, %x[0:N] : [t] f32[N]
%a = exp %m : [t] f32[N]
%q = sum{axes=(0,)} %a : [t] f32
%d = einsum{spec="h,s->hs"} %w, %a : [t] f32[2, N]
%p = div %d, %q : [t] f32[2, N]
%e = getitem{entries=((0, N, 1), (0, 2, 1), t)} %p[0:N] : [t] f32[N, 2]
%s = sum{axes=(0,)} %e : [t] f32[2]
output s = %s[0:N]
"""
MADE["what is repeated along the axis"] = """%m = sum{axes=(0,)} %x[0:N] : [] f32
%a = mul %x, %m : [t] f32
%r = expand_dims{axis=0} %a : [t] f32[1]
%p = broadcast_to{shape=(N,)} %r : [t] f32[N]
%e = getitem{entries=((0, N-t, 1), t)} %p[t:N] : [t] f32[N-t]
%s = sum{axes=(0,)} %e : [t] f32
output s = %s[0:N]
"""
MADE["what is repeated along others"] = """%h = mul %x, %x[0:N] : [t] f32[N]
%p = broadcast_to{shape=(2, N)} %h : [t] f32[2, N]
%e = getitem{entries=((0, N-t, 1), (0, 2, 1), t)} %p[t:N] : [t] f32[N-t, 2]
%s = sum{axes=(0,)} %e : [t] f32[2]
output s = %s[0:N]
"""
MADE["a range itself"] = """%p = pad{widths=((0, t),)} %x[t+1:N] : [t] f32[N-1]
%e = getitem{entries=((0, N-1-t, 1), t)} %p[0:N-1-t] : [t | t < N-1] f32[N-1-t]
%s = sum{axes=(0,)} %e : [t | t < N-1] f32
output s = %s[0:N-1]
"""
SHARES = """%m = mul %x, %x[0:N] : [t] f32[N]
%a = exp %m : [t] f32[N]
%q = sum{axes=(0,)} %a : [t] f32
%p = div %a, %q : [t] f32[N]
%e = getitem{entries=((0, N, 1), t)} %p[0:N] : [t] f32[N]
%s = sum{axes=(0,)} %e : [t] f32
output s = %s[0:N]
"""
KEPT = {
    "positions that the run has to check": SENT.replace("%h, %z", "%h, %j"),
    "a range whose step is not that of the places": MADE[
        "products with a range that begins after the point"
    ].replace("%x[t+1:N]", "%x[0:N-1-t]"),
    "an array that is a result as well": MADE["products with a range"] + "output p = %p[0]\n",
    "as many exponentials, of which elements would be taken": SHARES,
}


def test_element_reads(golden: Golden) -> None:
    story = Story()
    for name, text in MADE.items():
        outcome = story.tell(name, HEAD + text, ElementReads())
        assert any(r.step == "elements" for r in outcome.remarks), name
    golden("passes/elements.txt", story.text)


@pytest.mark.parametrize("text", MADE.values(), ids=MADE)
def test_the_values_are_the_same(text: str) -> None:
    before = graph(HEAD + text)
    after = ElementReads().run(before, PassContext(Space(before.universe)))
    assert_same(before, after)
    assert "p" not in after.nodes


def test_exponentials_are_computed_once() -> None:
    before = graph(HEAD + MADE["exponentials that something else reads"])
    after = ElementReads().run(before, PassContext(Space(before.universe)))
    (node,) = (n for n in after.nodes.values() if n.op.name == "exp")
    assert node.name == "a"


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_other_arrays_are_made(text: str) -> None:
    before = graph(HEAD + text)
    assert "p" in ElementReads().run(before, PassContext(Space(before.universe))).nodes
