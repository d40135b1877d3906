"""Scans, windows and running values in the place of reductions over ranges that move."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.lifting.lift import Lift
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import SIZES, graph, meaning
from tests.support.golden import Golden

HEAD = """
bound B
bound T
dim b < B
dim u < T
dim t < T
%x = input{dtype=f32} : [b, t] f32
%n = input{dtype=i32} : [t] i32
%v = input{dtype=f32, shape=(3,)} : [t] f32[3]
"""
# Of a node `s` over all points, which is a result.
AT_ONCE = {
    "a prefix is a scan": "%s = sum{axes=(0,)} %x[b, 0:t+1] : [b, t] f32",
    "what nobody reads one by one is read from the scan":
        "%s.0 = max{axes=(0,)} %x[b, t:T] : [b, t] f32\n"
        "%s = sum{axes=(0,)} %s.0[b, 0:T] : [b] f32",
    "empty ranges": "%s = sum %n[2:t+1] : [t] i32",
    "the points after this one": "%s = prod %n[t+1:T] : [t] i32",
    "a mean over all axes": "%s = mean %v[0:t+1] : [t] f32",
    "axes that stay": "%s = mean{axes=(0,), keepdims=true} %v[t:T] : [t] f32[1, 3]",
    "two dimensions": "%s = sum %x[0:b+1, t:T] : [b, t] f32",
    "conditions": "%q = gt %n, %n[0] : [t] bool\n%s = any %q[0:t+1] : [t] bool",
    "functions of each element": """
%w = mul %x[b, 0:t+1], %n[0:t+1] : [b, t] f32[t+1]
%two = literal{value=2.0, dtype=f32, weak=true} : [t] ~f32
%p = power %w, %two : [b, t] f32[t+1]
%s = max %p : [b, t] f32""",
    "every third": "%s = sum %n[0:t+1:3] : [t] i32",
    "logarithms of sums of exponentials": "%s = logsumexp %x[b, 0:t+1] : [b, t] f32",
    "a window, cut at the start": "%s = mean %x[b, max(0, t-3):t+1] : [b, t] f32",
    "a window, cut at the end": "%s = max{axes=(0,)} %v[t:min(t+3, T)] : [t] f32[3]",
    "a long window around the point":
        "%s = sum %n[max(0, t-6):min(t+5, T)] : [t] i32",
    "a window that may be empty": "%s = sum %n[max(0, t-4):t] : [t] i32",
    "weights that fade in a window": """
%g = literal{value=0.5, dtype=f32, weak=true} : [] ~f32
%a = arange{stop=min(3, T-t)} : [t] i32[min(3, T-t)]
%w = power %g, %a : [t] ~f32[min(3, T-t)]
%p = mul %w, %x[b, t:min(t+3, T)] : [b, t] f32[min(3, T-t)]
%s = sum %p : [b, t] f32""",
}  # fmt: skip
FADING = {
    "what is still to come, discounted": """
%g = literal{value=0.5, dtype=f32, weak=true} : [t] ~f32
%a = arange{stop=T-t} : [t] i32[T-t]
%w = power %g, %a : [t] ~f32[T-t]
%p = mul %w, %x[b, t:T] : [b, t] f32[T-t]
%s = sum %p : [b, t] f32""",
    "what was, discounted, with a factor of the day": """
%g = mean %n : [t] f32
%e = mean %g[0:T] : [] f32
%a = arange{start=t, stop=-1, step=-1} : [t] i32[t+1]
%w = power %e, %a : [t] f32[t+1]
%k = expand_dims{axis=1} %w : [t] f32[t+1, 1]
%p = mul %v[0:t+1], %k : [t] f32[t+1, 3]
%s = sum{axes=(0,)} %p : [t] f32[3]""",
    "powers that other points have": """
%g = literal{value=0.5, dtype=f32} : [] f32
%i = index{expr=t} : [t] i32
%w = power %g, %i : [t] f32
%s = matmul %w[0:T-t], %x[b, t:T] : [b, t] f32""",
    "from the next one on": """
%g = literal{value=0.5, dtype=f32} : [] f32
%one = literal{value=1, dtype=i32} : [] i32
%a = arange{stop=T-t-1} : [t] i32[T-t-1]
%e = add %a, %one : [t] i32[T-t-1]
%w = power %g, %e : [t] f32[T-t-1]
%p = mul %w, %x[b, t+1:T] : [b, t] f32[T-t-1]
%s = sum %p : [b, t] f32""",
}
PRODUCTS = {
    "outer products so far": """
%s = einsum{spec="ai,aj->ij"} %v[0:t+1], %v[0:t+1] : [t] f32[3, 3]""",
    "outer products to come, without the own one": """
%e = exp %v[t+1:T] : [t] f32[T-t-1, 3]
%s = einsum{spec="ai,aj->ij"} %e, %v[t+1:T] : [t] f32[3, 3]""",
    "a product with what all points share": """
%m = max{axes=(0,)} %v[0:T] : [] f32[3]
%s = einsum{spec="ai,i,a->i"} %v[0:t+1], %m, %x[b, 0:t+1] : [b, t] f32[3]""",
    "three factors, from a place on": """
%h = flip{axes=(0,)} %x[b, 1:t+1] : [b, t] f32[t]
%s = einsum{spec="s,sd,s->d"} %h, %v[0:t], %x[b, 0:t] : [b, t] f32[3]""",
    "numbers": "%s = matmul %n[0:t+1], %n[0:t+1] : [t] i32",
    "products of its own, in a cycle": """
%h.0 = copy %v : [t | t == 0] f32[3]
%h.p = matmul %s[t-1], %v : [t | t >= 1] f32[3]
%h.1 = tanh %h.p : [t | t >= 1] f32[3]
%h = merge{targets=((t,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[3]
%s = einsum{spec="ai,aj->ij"} %h[0:t+1], %v[0:t+1] : [t] f32[3, 3]""",
    "sums of its own, in a cycle": """
%h.0 = copy %v : [t | t == 0] f32[3]
%h.p = add %s[t-1], %v : [t | t >= 1] f32[3]
%h.1 = tanh %h.p : [t | t >= 1] f32[3]
%h = merge{targets=((t,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[3]
%s = sum{axes=(0,)} %h[0:t+1] : [t] f32[3]""",
}
LAGS = {
    "what was, weighted by how long ago": """
%h = flip{axes=(0,)} %v[0:t+1] : [t] f32[t+1, 3]
%p = mul %h, %v[0:t+1] : [t] f32[t+1, 3]
%s = sum{axes=(0,)} %p : [t] f32[3]""",
    "what is to come, in several rows": """
%s = einsum{spec="s,sd->d"} %x[b, t:T], %v[0:T-t] : [b, t] f32[3]""",
    "a point of two dimensions for each term, without the own one": """
%p = mul %x[b, max(0, t-u-1)], %x[0, u] : [b, u, t] f32
%s = sum %p[b, 0:t, t] : [b, t] f32""",
    "a window of unknown length, cut at the start": """
%h = flip{axes=(0,)} %x[0, 0:min(B, t+1)] : [t] f32[min(B, t+1)]
%s = matmul %h, %x[0, max(0, t-B+1):t+1] : [t] f32""",
    "a derivative, which is a correlation": """
%m = mul %v[0:t+1], %x[0, t] : [t] f32[t+1, 3]
%f = flip{axes=(0,)} %m : [t] f32[t+1, 3]
%d = pad{widths=((0, T-1-t), (0, 0))} %f : [t] f32[T, 3]
%g = getitem{entries=((0, T-t, 1), t, (0, 3, 1))} %d[t:T] : [t] f32[T-t, 3]
%s = sum{axes=(0,)} %g : [t] f32[3]""",
}
LOOPS = {
    "the loop that makes the elements adds them up": """
%h.0 = copy %x[b, 0] : [b] f32
%h.sum = sum %h[b, 0:t] : [b, t | t >= 1] f32
%h.1 = add %h.sum, %x : [b, t | t >= 1] f32
%h = merge{targets=((b, 0), (b, t))} %h.0 when t == 0, %h.1 when t >= 1 : [b, t] f32
%s = copy %h : [b, t] f32""",
    "a mean, over nothing at first": """
%c = literal{value=0.5, dtype=f32} : [t] f32
%h.m = max{axes=(0,)} %v[0:t+1] : [t] f32[3]
%h.sum = sum %h[0:t] : [t] f32
%h.mean = mean %h.m : [t] f32
%h = mul %h.sum, %c : [t] f32
%s = add %h, %h.mean : [t] f32""",
    "backwards": """
%h.0 = copy %x[b, T-1] : [b] f32
%h.e = exp %h[b, t+1:T] : [b, t | t+1 < T] f32[T-t-1]
%h.m = mean %h.e : [b, t | t+1 < T] f32
%h.1 = add %h.m, %x : [b, t | t+1 < T] f32
%h = merge{targets=((b, T-1), (b, t))} %h.0 when t+1 == T, %h.1 when t+1 < T : [b, t] f32
%s = copy %h : [b, t] f32""",
}
LEFT = {
    "other rows at each point": "%s = sum %x[min(t, B-1), 0:t+1] : [t] f32",
    "deviations, whose mean moves":
        "%m = mean %x[b, 0:t+1] : [b, t] f32\n%d = sub %x[b, t:T], %m : [b, t] f32[T-t]\n"
        "%s = max %d : [b, t] f32",
    "variances, which scans would lose": "%s = var %x[b, 0:t+1] : [b, t] f32",
    "weights that move, too": """
%w = mul %x[0, 0:t+1], %n : [t] f32[t+1]
%s = matmul %w, %v[0:t+1] : [t] f32[3]""",
    "a window of products": """
%s = matmul %n[max(0, t-3):t+1], %n[max(0, t-3):t+1] : [t] i32""",
    "ends that move against each other": "%s = sum %n[t:T-t] : [t] i32",
    "products of halves at a lag": """
%q = cast{dtype=bf16} %x : [b, t] bf16
%s = matmul %q[b, t:T], %q[0, 0:T-t] : [b, t] bf16""",
    "integers at a lag": "%s = matmul %n[t:T], %n[0:T-t] : [t] i32",
    "other functions of the place": """
%a = arange{stop=t+1} : [t] i32[t+1]
%p = mul %n[0:t+1], %a : [t] i32[t+1]
%s = sum %p : [t] i32""",
}  # fmt: skip
ENDS = {
    ("b", "t"): "0:B, 0:T", ("t",): "0:T", ("b",): "0:B"
}  # fmt: skip


def program(text: str) -> Graph:
    """The graph in which all points of `s` are a result."""
    last = next(line for line in reversed(text.split("\n")) if line.startswith("%s ="))
    dims = last.rpartition(": [")[2].partition("]")[0].partition(" |")[0].split(", ")
    return graph(f"{HEAD}{text}\noutput s = %s[{ENDS[tuple(dims)]}]\n")


def lifted(before: Graph, *, exact: bool = True) -> tuple[Graph, str]:
    """The graph after the pass, which means the same, and what was said."""
    space = Space(before.universe)
    starred = Vectorize().run(before, PassContext(space))
    outcome = run_pipeline(
        starred, (Lift(),), PassContext(space), verify=lambda g, step: verify(g, space, after=step)
    )
    for size in (*SIZES, 8):
        for special in (False, True) if exact else (False,):
            wanted = meaning(before, size, special=special)
            found = meaning(outcome.graph, size, special=special)
            for name, value in wanted.items():
                assert value.dtype == found[name].dtype
                np.testing.assert_allclose(
                    found[name], value, rtol=1e-5, atol=1e-5, err_msg=f"{name}, {size}"
                )
    again = Lift().run(outcome.graph, PassContext(space))
    assert again == outcome.graph
    return outcome.graph, "".join(f"# {r.message}\n" for r in outcome.remarks)


def test_what_is_lifted(golden: Golden) -> None:
    parts = []
    for name, text in (AT_ONCE | LAGS | FADING | PRODUCTS | LOOPS).items():
        before = program(text)
        after, said = lifted(before, exact=name in AT_ONCE | LAGS)
        assert said
        texts = (show(g, sources=False).partition("dim t < T\n\n")[2] for g in (before, after))
        parts.append(f"## {name}\n\n{next(texts)}\n->\n\n{next(texts)}{said}")
    golden("passes/lift.txt", "\n".join(parts))


@pytest.mark.parametrize("name", LEFT)
def test_what_stays(name: str) -> None:
    before = program(LEFT[name])
    after, _ = lifted(before)
    assert after.nodes["s"].op == before.nodes["s"].op
