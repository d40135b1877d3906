"""Retiming: what is shifted, that nothing changes its meaning, and what it is good for."""

from __future__ import annotations

import pytest

from tempoc.passes.analysis.dependence import unschedulable_nodes
from tempoc.passes.context import PassContext
from tempoc.passes.domain.retime import Retime
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.build import is_computed
from tests.support.agreement import agree
from tests.support.elaborated import graph_of
from tests.support.generators.graphs import Story, assert_same, graph
from tests.support.golden import Golden

HEAD = """
bound C
bound T
dim c < C
dim t < T
%x = input{dtype=f32} : [c] f32
"""
PLACE = """%p.0 = copy %x : [c] f32
%p.1 = add %p, %v : [c, t | t < T-1] f32
%p = merge{targets=((c, 0), (c, t+1))} %p.0 when t == 0, %p.1[c, t-1] when t >= 1 : [c, t] f32
"""
SPEED = """%v.0 = exp %x : [c] f32
%v.1 = sub %v, %g[c, t+1] : [c, t | t < T-1] f32
%v = merge{targets=((c, 0), (c, t+1))} %v.0 when t == 0, %v.1[c, t-1] when t >= 1 : [c, t] f32
output p = %p[0:C, 0:T]
"""
SHIFTED = {
    "a force at the new place": f"{PLACE}%g = tanh %p : [c, t] f32\n{SPEED}",
    "a force that others read, too": f"""{PLACE}%a = mul %p, %p : [c, t] f32
%g = tanh %a : [c, t] f32
{SPEED}output g = %g[0:C, 0:T]
""",
    "a light force that its own step reads, too": f"""{PLACE}%a = mul %p, %p : [c, t] f32
%g = add %a, %p : [c, t] f32
%v.0 = exp %x : [c] f32
%h = sub %v, %g : [c, t | t < T-1] f32
%v.1 = sub %h, %g[c, t+1] : [c, t | t < T-1] f32
%v = merge{{targets=((c, 0), (c, t+1))}} %v.0 when t == 0, %v.1[c, t-1] when t >= 1 : [c, t] f32
output p = %p[0:C, 0:T]
""",
    "a sum of all places until then": f"{PLACE}%g = sum{{axes=(0,)}} %p[c, 0:t+1] : [c, t] f32\n"
    + SPEED,
    "several results": f"""{PLACE}%e = expand_dims{{axis=0}} %p : [c, t] f32[1]
%s = concat{{axis=0}} %e, %e : [c, t] f32[2]
%q = split{{sections=2, axis=0}} %s : [c, t] f32[1], f32[1]
%g = sum{{axes=(0,)}} %q@1 : [c, t] f32
{SPEED}""",
    "a loop that runs backwards": """%p.0 = copy %x : [c] f32
%p.1 = add %p, %v : [c, t | t >= 1] f32
%p = merge{targets=((c, T-1), (c, t-1))} %p.0 when t == T-1, %p.1[c, t+1] when t < T-1 : [c, t] f32
%g = tanh %p : [c, t] f32
%v.0 = exp %x : [c] f32
%v.1 = sub %v, %g[c, t-1] : [c, t | t >= 1] f32
%v = merge{targets=((c, T-1), (c, t-1))} %v.0 when t == T-1, %v.1[c, t+1] when t < T-1 : [c, t] f32
output p = %p[0:C, 0:T]
output g = %g[0:C, 0:T]
""",
    "two steps ahead": """%p.0 = copy %x : [c, t | t < 2] f32
%p.1 = add %p, %v : [c, t | t < T-2] f32
%p = merge{targets=((c, t), (c, t+2))} %p.0 when t < 2, %p.1[c, t-2] when t >= 2 : [c, t] f32
%g = tanh %p : [c, t] f32
%v.0 = exp %x : [c] f32
%v.1 = sub %v, %g[c, min(t+2, T-1)] : [c, t | t < T-1] f32
%v = merge{targets=((c, 0), (c, t+1))} %v.0 when t == 0, %v.1[c, t-1] when t >= 1 : [c, t] f32
output p = %p[0:C, 0:T]
""",
}
ALONE = {
    "what no loop can carry": """%a.0 = copy %x : [c] f32
%a.1 = exp %b : [c, t | t >= 1] f32
%a = merge{targets=((c, 0), (c, t))} %a.0 when t == 0, %a.1 when t >= 1 : [c, t] f32
%b.0 = exp %a[c, t+1] : [c, t | t < T-1] f32
%b.1 = copy %x : [c] f32
%b = merge{targets=((c, t), (c, T-1))} %b.0 when t < T-1, %b.1 when t == T-1 : [c, t] f32
output b = %b[0:C, 0:T]
""",
    "a plain recurrence": f"{PLACE}%v = exp %p : [c, t] f32\noutput v = %v[0:C, 0:T]\n",
}


def test_retime(golden: Golden) -> None:
    story = Story()
    for name, text in SHIFTED.items():
        outcome = story.tell(name, HEAD + text, Retime())
        assert any(r.step == "retime" for r in outcome.remarks), name
    golden("passes/retime.txt", story.text)


@pytest.mark.parametrize("name", SHIFTED)
def test_independent_points_run_at_once_then(name: str) -> None:
    before = graph(HEAD + SHIFTED[name])
    context = PassContext(Space(before.universe))
    assert unschedulable_nodes(before, context.space)
    after = Retime().run(before, context)
    assert not unschedulable_nodes(after, context.space)
    vectorized = Vectorize().run(after, context)
    assert all(
        "c" in n.vector
        for n in vectorized.nodes.values()
        if is_computed(n) and "c" in n.domain.dims and not n.op.cheap
    )
    assert_same(before, vectorized)


@pytest.mark.parametrize("name", ALONE)
def test_what_is_not_shifted(name: str) -> None:
    before = graph(HEAD + ALONE[name])
    assert Retime().run(before, PassContext(Space(before.universe))) is before


LEAPFROG = """
dim c < C
dim t < T
input x[c]: f32[3]
p[c, 0] = x
v[c, 0] = 0.5 * x
g = {force}
h = v - 0.05 * g
p[c, t+1] = p + 0.1 * h
v[c, t+1] = h - 0.05 * g[c, t+1]
{more}
output v, p[0:C, T-1]
"""


@pytest.mark.parametrize(
    ("force", "more", "again"),
    [
        ("p * p * p + p", "", True),
        ("maximum(p, 0.5) - p", "d = grad(sum(p[t = T-1]), x)\noutput d", True),
        ("p * p + p", "s = sum(g[c, 0:T])\noutput s", True),
        ("tanh(p)", "", False),
        ("expand_dims(sum(p), 0) * p", "", False),
    ],
)
def test_steps_compute_light_functions_again(force: str, more: str, again: bool) -> None:
    """They pass on one array less."""
    text = LEAPFROG.format(force=force, more=more)
    before = graph_of(text)
    context = PassContext(Space(before.universe))
    after = Retime().run(Canonicalize().run(before, context), context)
    assert any(".ahead" in name for name in after.nodes) == again
    assert not unschedulable_nodes(after, context.space)
    agree(text, *({"C": c, "T": t} for c, t in ((1, 1), (2, 2), (3, 3), (2, 6))))
    agree(text, {"C": 2, "T": 4}, special=True)


def test_the_cycles_of_a_gradient_are_shifted_the_other_way() -> None:
    before = graph_of("""
dim c < C
dim t < T
input x[c]: f32
param w: f32
p[c, 0] = x
v[c, 0] = 0.0
g = w * p ** 3
h = v - 0.05 * g
p[c, t+1] = p + 0.1 * h
v[c, t+1] = h - 0.05 * g[c, t+1]
d = grad(p[t = T-1] ** 2, w)
output d
""")
    context = PassContext(Space(before.universe))
    start = Canonicalize().run(before, context)
    after = Retime().run(start, context)
    assert sum(r.step == "retime" for r in context.remarks.entries) == 2
    assert not unschedulable_nodes(after, context.space)


def test_what_the_data_end_is_shifted_too() -> None:
    before = graph_of("""
dim k < K until small
input b: f32[3]
r[0] = b
z = exp(-r)
p[0] = b
r[k+1] = 0.5 * r - 0.1 * p
p[k+1] = z[k+1] + 0.2 * p
small[k] = sum(r * r) < 0.1
output p[K-1] as last
""")
    context = PassContext(Space(before.universe))
    assert unschedulable_nodes(before, context.space)
    after = Retime().run(before, context)
    assert not unschedulable_nodes(after, context.space)
    assert_same(before, after)
