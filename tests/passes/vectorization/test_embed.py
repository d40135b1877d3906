"""Embedding: starts that are a part of their recurrence, and that nothing changes its meaning."""

from __future__ import annotations

import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.vectorization.embed import Embed
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.build import is_computed
from tests.support.generators.graphs import Story, assert_same, graph
from tests.support.golden import Golden

HEAD = """
bound C
bound T
dim c < C
dim t < T
%x = input{dtype=f32} : [c] f32
"""
START = """%g.0 = copy %x : [c] f32
%g.1 = tanh %s[c, t-1] : [c, t | t >= 1] f32
%g = merge{targets=((c, 0), (c, t))} %g.0 when t == 0, %g.1 when t >= 1 : [c, t] f32
%h = exp %g : [c, t] f32
"""
REST = """%s.1 = add %s[c, t-1], %h : [c, t | t >= 1] f32
%s = merge{targets=((c, 0), (c, t))} %s.0 when t == 0, %s.1 when t >= 1 : [c, t] f32
output s = %s[0:C, 0:T]
"""
EMBEDDED = {
    "a start that the first step computes": f"{START}%s.0 = copy %h[c, 0] : [c] f32\n{REST}",
    "one of several nodes": f"""{START}%a = neg %h[c, 0] : [c] f32
%s.0 = add %a, %h[c, 0] : [c] f32
{REST}output a = %a[0:C]
""",
    "backwards": """%g.0 = copy %x : [c] f32
%g.1 = tanh %s[c, t+1] : [c, t | t < T-1] f32
%g = merge{targets=((c, T-1), (c, t))} %g.0 when t == T-1, %g.1 when t < T-1 : [c, t] f32
%h = exp %g : [c, t] f32
%s.0 = exp %h[c, T-1] : [c] f32
%s.1 = add %s[c, t+1], %h : [c, t | t < T-1] f32
%s = merge{targets=((c, T-1), (c, t))} %s.0 when t == T-1, %s.1 when t < T-1 : [c, t] f32
output s = %s[0:C, 0:T]
""",
}
ALONE = {
    "a start from elsewhere": f"{START}%s.0 = copy %x : [c] f32\n{REST}",
    "two points": """%s.0 = add %g[c, 0], %g[c, min(1, T-1)] : [c] f32
%s.1 = copy %x : [c, t | t >= 2] f32
%s = merge{targets=((c, 0), (c, t))} %s.0 when t == 0, %s.1 when t >= 2 : [c, t | t != 1] f32
%g = tanh %x : [c, t] f32
output s = %s[0:C, 0]
""",
}


def test_embed(golden: Golden) -> None:
    story = Story()
    for name, text in EMBEDDED.items():
        outcome = story.tell(name, HEAD + text, Embed())
        assert any(r.step == "embed" for r in outcome.remarks), name
    golden("passes/embed.txt", story.text)


@pytest.mark.parametrize("text", EMBEDDED.values(), ids=EMBEDDED)
def test_then_all_points_of_the_other_dimension_are_computed_at_once(text: str) -> None:
    before = graph(HEAD + text)
    context = PassContext(Space(before.universe))
    after = Embed().run(before, context)
    assert_same(before, after)
    starred = Vectorize().run(after, context).nodes.values()
    assert all("c" in n.vector for n in starred if is_computed(n))


@pytest.mark.parametrize("text", ALONE.values(), ids=ALONE)
def test_what_no_cycle_needs_stays(text: str) -> None:
    before = graph(HEAD + text)
    assert Embed().run(before, PassContext(Space(before.universe))) == before


def test_a_cycle_that_a_loop_carries_by_then_gets_no_further_dimension() -> None:
    before = graph("""
bound I
bound N
dim i < I
dim n < N
%x = input{dtype=f32} : [i, n] f32
%d = mul %x, %w : [i, n] f32
%g = sum{axes=(0,)} %d[i, 0:N] : [i] f32
%m.0 = copy %g[0] : [] f32
%m.1 = add %m[i-1], %g : [i | i >= 1] f32
%m = merge{targets=((0,), (i,))} %m.0 when i == 0, %m.1 when i >= 1 : [i] f32
%w.0 = literal{value=1.0, dtype=f32} : [] f32
%w.1 = add %w, %m : [i | i < I-1] f32
%w = merge{targets=((0,), (i+1,))} %w.0 when i == 0, %w.1[i-1] when i >= 1 : [i] f32
output w = %w[0:I]
""")
    after = Embed().run(before, PassContext(Space(before.universe)))
    assert after.nodes["m.0"].domain.dims == ("i",)
    assert after.nodes["w.1"] == before.nodes["w.1"]
    assert_same(before, after)
