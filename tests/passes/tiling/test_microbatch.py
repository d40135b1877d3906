"""Tensors that are large only together: in microbatches, those of loops computed again."""

from __future__ import annotations

import pytest

from tempoc.passes.analysis.dependence import unschedulable_nodes
from tempoc.passes.context import PassContext
from tempoc.passes.tiling.microbatch import Microbatch
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import assert_close, graph
from tests.support.golden import Golden

ACTOR = """
bound T
bound B
dim t < T
dim b < B
%x = input{dtype=f32, shape=(2,)} : [b] f32[2]
%w = param{template="w", dtype=f32, shape=(2, 64)} : [] f32[2, 64]
%u = param{template="u", dtype=f32, shape=(64, 2)} : [] f32[64, 2]
%z = matmul %o, %w : [t, b*] f32[64]
%h = tanh %z : [t, b*] f32[64]
%n = matmul %h, %u : [t, b*] f32[2]
%c = copy %x : [b*] f32[2]
%o = merge{targets=((0, b), (t+1, b))} %c when t == 0, %n[t-1, b] when t-1 >= 0 : [t, b] f32[2]
"""
LEARNER = """
%e = matmul %o, %w : [t*, b*] f32[64]
%g = sin %e : [t*, b*] f32[64]
%d = einsum{spec="tbi,tbj->ij"} %g[0:T, 0:B], %h[0:T, 0:B] : [] f32[64, 64]
output d = %d
"""
SLOW_STATE = """
bound T
bound B
bound C = (T+3)//4
dim t < T
dim c < C
dim b < B
%x = input{dtype=f32, shape=(64,)} : [b] f32[64]
%h = tanh %s : [t, b*] f32[64]
%g = sum{axes=(0,)} %h[4*c-4:4*c, b] : [c, b* | c-1 >= 0] f32[64]
%k = copy %x : [b*] f32[64]
%m = merge{targets=((0, b), (c, b))} %k when c == 0, %g when c-1 >= 0 : [c, b] f32[64]
%s = sin %m[t//4, b] : [t, b*] f32[64]
%y = sin %h : [t*, b*] f32[64]
%d = einsum{spec="tbi,tbj->ij"} %y[0:T, 0:B], %h[0:T, 0:B] : [] f32[64, 64]
output d = %d
"""
"""A state that sums up four steps of another loop, which reads it."""
BYTES = 256 * 256 * 64 * 4
"""Of all points of a tensor, as estimated."""
LEFT = {
    "a batch": """
%e = matmul %x, %w : [b*] f32[64]
%g = sin %e : [b*] f32[64]
%d = einsum{spec="bi,bj->ij"} %g[0:B], %g[0:B] : [] f32[64, 64]
output d = %d
""",
    "states, which need each other": """
%f = tanh %s : [t, b*] f32[64]
%k = broadcast_to{shape=(64,)} %y : [b*] f32[64]
%y = sum{axes=(0,)} %x : [b*] f32
%s = merge{targets=((0, b), (t+1, b))} %k when t == 0, %f[t-1, b] when t-1 >= 0 : [t, b] f32[64]
%d = einsum{spec="tbi,tbj->ij"} %s[0:T, 0:B], %s[0:T, 0:B] : [] f32[64, 64]
output d = %d
""",
}


def cut(before: Graph, options: Microbatch) -> tuple[Graph, list[str]]:
    """The graph after the pass, verified, and its remarks; it means the same up to rounding."""
    context = PassContext(Space(before.universe))
    after = options.run(before, context)
    verify(after, context.space, after="microbatch")
    assert_close(before, after)
    return after, [r.message for r in context.remarks.entries]


def test_what_a_loop_has_computed_is_computed_again(golden: Golden) -> None:
    after, said = cut(graph(ACTOR + LEARNER), Microbatch(size=3))
    assert said == [
        "2 operands of products, each of 256 bytes*B*T at most, would be live together; "
        "computed 3 rows of `t` at a time"
    ]
    golden("passes/microbatch.txt", show(after, sources=False))


def test_what_the_loop_waits_for_is_not_read_of_the_tiles() -> None:
    after, said = cut(graph(SLOW_STATE), Microbatch(size=3))
    assert said[0].endswith("computed 3 rows of `t` at a time")
    assert after.nodes["g"].sources == ("h",)
    assert not unschedulable_nodes(after, Space(after.universe))


def test_only_what_is_large_together_is_cut() -> None:
    before = graph(ACTOR + LEARNER)
    assert cut(before, Microbatch(limit=2 * BYTES))[0] == before
    after, said = cut(before, Microbatch(limit=2 * BYTES - 1))
    assert after != before
    assert said[0].endswith("computed 8 rows of `t` at a time")


@pytest.mark.parametrize("name", LEFT)
def test_what_stays(name: str) -> None:
    before = graph(ACTOR + LEFT[name])
    assert cut(before, Microbatch(limit=1))[0] == before
