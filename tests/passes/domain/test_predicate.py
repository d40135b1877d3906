"""Conditions on several dimensions: what becomes a selection over a box, and what stays."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tempoc.ops.control.control import Merge
from tempoc.passes.context import PassContext
from tempoc.passes.domain.predicate import Predication
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.build import is_computed
from tempoc.sdg.verification.verify import verify
from tests.support.agreement import agree
from tests.support.elaborated import graph_of
from tests.support.generators.graphs import Story, data, graph
from tests.support.golden import Golden
from tests.support.session.long import chosen

SIZES = (1, 2, 3, 6)
FEW = (1, 2, 4)
"""Those of three dimensions and more: one point, nothing between two rims, and something there."""

HEAD = """
bound N
bound M
dim i < N
dim j < M
%q = input{dtype=f32, shape=(3,)} : [i] f32[3]
%k = input{dtype=f32, shape=(3,)} : [j] f32[3]
%none = literal{value=-9.0, dtype=f32} : [] f32
"""
BOXES = {
    "a mask": """%s.0 = matmul %q, %k : [i, j | j <= i] f32
%s.1 = copy %none : [i, j | j > i] f32
%s = merge{targets=((i, j), (i, j))} %s.0 when j <= i, %s.1 when j > i : [i, j] f32
%p = max %s[i, 0:M] : [i] f32
output p = %p[0:N]
""",
    "three equations, one of them a diagonal": """%s.0 = copy %none : [i, j | i == j] f32
%s.1 = matmul %q, %k : [i, j | j < i] f32
%a = sum %q : [i, j | j > i] f32
%s.2 = exp %a : [i, j | j > i] f32
%s = merge{targets=((i, j), (i, j), (i, j))} %s.0 when i == j, %s.1 when j < i, \
%s.2 when j > i : [i, j] f32
output s = %s[0:N, 0:M]
""",
    "a triangle without the rest": """%s = matmul %q, %k : [i, j | j <= i and N <= M] f32
%e = exp %s : [i, j | j <= i and N <= M] f32
%p = sum %e[i, 0:i+1] : [i | N <= M] f32
%z = copy %p[0] : [| N <= M] f32
%t.0 = copy %z : [i, j | N <= M] f32
%t.1 = copy %none : [i, j | N > M] f32
%t = merge{targets=((i, j), (i, j))} %t.0 when N <= M, %t.1 when N > M : [i, j] f32
output t = %t[0:N, 0:M]
""",
    "a triangle whose last row is another equation": """\
%c = matmul %q, %k : [i, j | N <= M] f32
%s.0 = neg %c : [i, j | i == N-1 and N <= M] f32
%s.1 = exp %c[i+1, j] : [i, j | j <= i and i < N-1 and N <= M] f32
%s = merge{targets=((i, j), (i, j))} %s.0 when i == N-1, %s.1 when i < N-1 \
: [i, j | j <= i and N <= M] f32
%e = exp %s : [i, j | j <= i and N <= M] f32
%p = sum %e[i, 0:i+1] : [i | N <= M] f32
%z = copy %p[0] : [| N <= M] f32
%t.0 = copy %z : [i, j | N <= M] f32
%t.1 = copy %none : [i, j | N > M] f32
%t = merge{targets=((i, j), (i, j))} %t.0 when N <= M, %t.1 when N > M : [i, j] f32
output t = %t[0:N, 0:M]
""",
    "a chessboard": """%a = sum %q : [i] f32
%s.0 = neg %a : [i, j | (i + j) % 2 == 0] f32
%s.1 = exp %a : [i, j | (i + j) % 2 != 0] f32
%s = merge{targets=((i, j), (i, j))} %s.0 when (i + j) % 2 == 0, %s.1 when (i + j) % 2 != 0 \
: [i, j] f32
output s = %s[0:N, 0:M]
""",
    "a neighbour that is not everywhere": """%a = matmul %q, %k : [i, j] f32
%s.0 = exp %a[i, j-1] : [i, j | j > i] f32
%s.1 = copy %none : [i, j | j <= i] f32
%s = merge{targets=((i, j), (i, j))} %s.0 when j > i, %s.1 when j <= i : [i, j] f32
output s = %s[0:N, 0:M]
""",
    "a position that is not everywhere": """%w = input{dtype=f32, shape=(N,)} : [] f32[N]
%s.0 = getitem{entries=(i-j,)} %w : [i, j | j <= i] f32
%s.1 = copy %none : [i, j | j > i] f32
%s = merge{targets=((i, j), (i, j))} %s.0 when j <= i, %s.1 when j > i : [i, j] f32
output s = %s[0:N, 0:M]
""",
}
LEFT = {
    "a neighbour of a slice": """%a = matmul %q, %k : [i, j] f32
%s.0 = sum %a[i, 0:j-i] : [i, j | j > i] f32
%s.1 = copy %none : [i, j | j <= i] f32
%s = merge{targets=((i, j), (i, j))} %s.0 when j > i, %s.1 when j <= i : [i, j] f32
output s = %s[0:N, 0:M]
""",
    "a recurrence": """%s.0 = copy %none : [i, j | j >= i] f32
%s.1 = add %none, %s[i, j+1] : [i, j | j < i and j < M-1] f32
%s.2 = copy %none : [i, j | j < i and j == M-1] f32
%s = merge{targets=((i, j), (i, j), (i, j))} %s.0 when j >= i, %s.1 when j < i and j < M-1, \
%s.2 when j < i and j == M-1 : [i, j] f32
output s = %s[0:N, 0:M]
""",
    "work on a diagonal": """%s.0 = matmul %q, %k : [i, j | i == j] f32
%s.1 = copy %none : [i, j | i != j] f32
%s = merge{targets=((i, j), (i, j))} %s.0 when i == j, %s.1 when i != j : [i, j] f32
output s = %s[0:N, 0:M]
""",
    "one dimension alone": """%s.0 = sum %q : [i | i % 2 == 0] f32
%s.1 = copy %none : [i | i % 2 != 0] f32
%s = merge{targets=((i,), (i,))} %s.0 when i % 2 == 0, %s.1 when i % 2 != 0 : [i] f32
output s = %s[0:N]
""",
}
MASKED = """
dim i < N
dim j < M = N
input q[i]: f32[3]
input k[j]: f32[3]
s[i, j] = q[i] @ k[j] when j <= i
a[i] = logsumexp(s[i, 0:i+1])
w = exp(s[i, j] - a[i]) if j <= i else 0.0
cost = sum((w[i, 0:N] @ k[0:N] @ q[i])[i = 0:N])
slope = grad(cost, k)
output cost, slope
"""


def assert_equal(before: Graph, after: Graph) -> None:
    """Both give the same results, bit by bit."""
    if after is before:
        return
    free = [b.name for b in before.universe.bounds if b.value is None]
    tried = SIZES if len(free) < 3 or chosen["long"] else FEW
    for sizes in product(tried, repeat=len(free)):
        bounds = dict(zip(free, sizes, strict=True))
        bounds |= {b.name: bounds["N"] for b in before.universe.bounds if b.value is not None}
        given = data(before, bounds)
        with np.errstate(all="ignore"):
            wanted, others = (evaluate(g, bounds, given, given) for g in (before, after))
        for name, value in wanted.items():
            np.testing.assert_array_equal(others[name], value, err_msg=f"{name} at {bounds}")


def predicated(before: Graph) -> Graph:
    """The graph after the pass, verified and equal."""
    space = Space(before.universe)
    after = Predication().run(before, PassContext(space))
    verify(after, space, after="predicate")
    assert_equal(before, after)
    return after


def test_predicate(golden: Golden) -> None:
    story = Story()
    for name, text in BOXES.items():
        story.tell(name, HEAD + text, Predication())
    golden("passes/predicate.txt", story.text)


@pytest.mark.parametrize("name", BOXES)
def test_a_box_is_computed_at_once(name: str) -> None:
    after = predicated(graph(HEAD + BOXES[name]))
    vectorized = Vectorize().run(after, PassContext(Space(after.universe)))
    loops = [
        n.name
        for n in vectorized.nodes.values()
        if is_computed(n) and {*n.domain.dims} - {*n.vector}
    ]
    assert not loops


@pytest.mark.parametrize("name", LEFT)
def test_what_stays(name: str) -> None:
    before = graph(HEAD + LEFT[name])
    assert predicated(before) == before


def test_derivatives_of_what_is_masked() -> None:
    before = graph_of(MASKED)
    assert predicated(before) != before


RIMS = {
    "the rim of a plate": "i == 0 or i == H - 1 or j == 0 or j == W - 1",
    "a corner": "i == 0 and j == 0 or i >= H - 2 and j >= W - 2",
    "a corner and a side": "i == 0 and j < 2 or j == W - 1",
}
PLATE = """
dim t < T
dim i < H
dim j < W
input start[i, j]: f32
input cold[i]: f32
u[0, i, j] = start[i, j]
u[t, i, j] = exp(cold[i] - u[t-1, i, j]) * 2.0 when {rim}
u[t, i, j] = 0.5 * u[t-1, i, j] + 0.25 * u[t-1, max(i-1, 0), min(j+1, W-1)]
output u[T-1, 0:H, 0:W] as final
"""
SLANTED = {
    "a diagonal": "i == j or i == 0",
    "what meets no interval": "i == 0 or j % 2 == 1",
    "one dimension alone": "i == 0 or i == H - 1",
}


@pytest.mark.parametrize("name", RIMS)
def test_boxes_of_a_recurrence_are_computed_at_once(name: str) -> None:
    """Neither the rim nor what it needs is computed point by point."""
    after = predicated(graph_of(PLATE.format(rim=RIMS[name])))
    branches = [n for n in after.nodes.values() if n.name.startswith("u.1")]
    assert len(branches) > 1
    space = Space(after.universe)
    vectorized = Vectorize().run(after, PassContext(space))
    for node in branches:
        loops = {"i", "j"}.difference(vectorized.nodes[node.name].vector)
        assert all(space.is_fixed_by(node.domain, dim) for dim in loops), node.name


@pytest.mark.parametrize("name", SLANTED)
def test_what_is_no_union_of_boxes_stays(name: str) -> None:
    before = graph_of(PLATE.format(rim=SLANTED[name]))
    assert predicated(before) == before


def test_a_number_that_recurrences_share_is_divided_for_each() -> None:
    """Of two grids that need each other, each has a rim of zeros of its own."""
    grids = PLATE.replace("exp(cold[i] - u[t-1, i, j]) * 2.0", "0.0").format(rim="i == 0 or j == 0")
    other = "\n".join(x.replace("u[", "v[") for x in grids.splitlines() if x.startswith("u["))
    text = grids.replace("0.25 * u[", "0.25 * v[") + other.replace("0.25 * v[", "0.75 * u[")
    read = graph_of(text)
    shared = Canonicalize().run(read, PassContext(Space(read.universe)))
    after = predicated(shared)
    vectorized = Vectorize().run(after, PassContext(Space(after.universe)))
    for node in vectorized.nodes.values():
        if node.domain.dims == ("t", "i", "j") and not isinstance(node.op, Merge):
            loops = {"i", "j"}.difference(node.vector)
            space = Space(after.universe)
            assert all(space.is_fixed_by(node.domain, dim) for dim in loops), node.name


TRAINED = """
dim i < I
dim b < N
dim c < M = N
input x[b]: f32[3]
param w0: f32[3]
w[0] = w0
u = x * w
score[i, b, c] = {score}
total[i] = mean(({total})[b = 0:N])
w[i+1] = w - 0.1 * grad(total, w)
output total
"""
STEPS = {
    "a diagonal that is read": (
        "u[i, b] @ u[i, c]",
        "logsumexp(score[i, b, 0:M]) - score[i, b, b]",
    ),
    "a mask": ("u[i, b] @ u[i, c] if c <= b else -9.0", "logsumexp(score[i, b, 0:M])"),
}


@pytest.mark.parametrize("name", STEPS)
def test_points_of_a_step_of_an_outer_recurrence_are_computed_at_once(name: str) -> None:
    """The weights of the step before are all that a step waits for."""
    score, total = STEPS[name]
    after = predicated(graph_of(TRAINED.format(score=score, total=total)))
    vectorized = Vectorize().run(after, PassContext(Space(after.universe)))
    loops = {
        d
        for n in vectorized.nodes.values()
        if is_computed(n)
        for d in {*n.domain.dims} - {*n.vector}
    }
    assert loops == {"i"}


def test_a_merge_keeps_the_points_that_others_read() -> None:
    """A consumer from t = 1 on asks for a box that lacks the first point of a merge."""
    text = """dim t < T
input x[t]: f32
input w: f32
assume T >= 3
a[t] = x * w when t == 0
a[t] = 2.0 when t == 1
a[t] = x * w + x
b[t] = a[t] when t == 0
b[t] = a[max(t-1, 0)] * 0.5
loss = b[T-1] + b[0] * b[1]
h = grad(loss, w)
g = grad(h * h, w)
output g
"""
    agree(text, {"T": 3}, {"T": 4}, {"T": 7})
