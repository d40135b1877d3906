"""Stars: which dimensions are computed all at once, and which stay loops."""

from __future__ import annotations

import pytest

from tempoc.passes.context import PassContext
from tempoc.passes.fusion.fuse import Fuse
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tests.support.generators.graphs import Story, graph
from tests.support.golden import Golden

STATES = """
bound T
dim t < T
%x = input{dtype=f32, shape=(2,)} : [t] f32[2]
%h.0 = copy %x[0] : [] f32[2]
%h.1 = tanh %h[t-1] : [t | t >= 1] f32[2]
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[2]
%a = exp %h : [t] f32[2]
%b = sin %h : [t] f32[2]
"""
"""States of a loop, and two functions of them."""
ACTING = """
bound T
dim t < T
%seed = seed : [] key[2]
%x = input{dtype=f32, shape=(2,)} : [] f32[2]
%a.key = random_key{place=7, at=(t,)} %seed : [t] key[2]
%a = categorical %a.key, %h : [t] i32
%a.number = cast{dtype=f32} %a : [t] f32
%h.0 = copy %x : [] f32[2]
%h.1 = mul %h[t-1], %a.number[t-1] : [t | t >= 1] f32[2]
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[2]
"""
"""A loop that chooses among two."""

CASES = {
    "a batch of recurrences: the batch at once, time step by step": """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32, shape=(4,)} : [b, t] f32[4]
%h.0 = copy %x[b, 0] : [b] f32[4]
%h.add = add %h[b, t-1], %x : [b, t | t >= 1] f32[4]
%h.1 = tanh %h.add : [b, t | t >= 1] f32[4]
%h = merge{targets=((b, 0), (b, t))} %h.0 when t == 0, %h.1 when t >= 1 : [b, t] f32[4]
%y = sum{axes=(0,)} %h : [b, t] f32
output y = %y[0:B, 0:T]
""",
    "large points wait for a loop backward, which begins with the last, as do sums of them": """
bound B
bound T
dim b < B
dim t < T
%x = input{dtype=f32, shape=(4,)} : [b, t] f32[4]
%a = exp %x : [b, t] f32[4]
%s = sum{axes=(0,)} %a : [b, t] f32
%h.0 = copy %a[b, T-1] : [b] f32[4]
%h.mul = mul %h[b, t+1], %s : [b, t | t < T-1] f32[4]
%h.1 = tanh %h.mul : [b, t | t < T-1] f32[4]
%h = merge{targets=((b, T-1), (b, t))} %h.0 when t == T-1, %h.1 when t < T-1 : [b, t] f32[4]
output y = %h[0:B, 0]
""",
    "what surrounds a recurrence stays with it, unless it is kept whole anyway": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%a = exp %x : [t] f32
%h.0 = copy %a[0] : [] f32
%h.1 = add %h[t-1], %a : [t | t >= 1] f32
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32
%b = exp %x : [t] f32
%c = sum{axes=(0,)} %b[0:T] : [] f32
%d = mul %b, %c : [t] f32
output h = %h[T-1]
output d = %d[0:T]
""",
    "what a step alone has does not wait for what could be computed after the loop": """
bound N
bound T
dim t < T
dim n < N
%x = input{dtype=f32} : [n] f32
%w.0 = literal{value=1.0, dtype=f32} : [] f32
%z = power %w, %x : [t, n] f32
%w.1 = sum{axes=(0,)} %z[t-1, 0:N] : [t | t >= 1] f32
%w = merge{targets=((0,), (t,))} %w.0 when t == 0, %w.1 when t >= 1 : [t] f32
%square = exp %w : [t] f32
%mean = mean %z[t, 0:N] : [t] f32
%cost = add %mean, %square : [t] f32
output w = %w[0:T]
output cost = %cost[0:T]
""",
    "what waits for a loop is computed of what the loop stores, if that is less": STATES
    + """
%s = sum{axes=(0,)} %a[0:T] : [] f32[2]
%y = sub %a, %s : [t] f32[2]
%z = mul %y, %b : [t] f32[2]
output z = %z[0:T]
""",
    "what later rounds read again is stored also after the loop": STATES
    + """
%s = sum{axes=(0,)} %a[0:T] : [] f32[2]
%c = sub %b, %s : [t] f32[2]
%v = sum{axes=(0,)} %c[0:T] : [] f32[2]
%y = sub %a, %v : [t] f32[2]
%z = mul %y, %b : [t] f32[2]
output z = %z[0:T]
""",
    "and so are large tensors in between": """
bound T
dim t < T
%x = input{dtype=f32, shape=(32,)} : [t] f32[32]
%h.0 = copy %x[0] : [] f32[32]
%h.1 = tanh %h[t-1] : [t | t >= 1] f32[32]
%h = merge{targets=((0,), (t,))} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[32]
%h.u = expand_dims{axis=1} %h : [t] f32[32, 1]
%p = mul %h.u, %h : [t] f32[32, 32]
%e = exp %p : [t] f32[32, 32]
%a = sum{axes=(0,)} %e : [t] f32[32]
%b = max{axes=(0,)} %p : [t] f32[32]
%s = sum{axes=(0,)} %a[0:T] : [] f32[32]
%y = sub %a, %s : [t] f32[32]
%z = mul %y, %b : [t] f32[32]
output z = %z[0:T]
""",
    "a loop computes what it needs of another one when it needs it": STATES
    + """
%g.0 = copy %x[T-1] : [] f32[2]
%g.mul = mul %g[t+1], %a : [t | t < T-1] f32[2]
%g.1 = add %g.mul, %b : [t | t < T-1] f32[2]
%g = merge{targets=((T-1,), (t,))} %g.0 when t == T-1, %g.1 when t < T-1 : [t] f32[2]
output g = %g[0]
""",
    "a stencil: one dimension carries the other": """
bound I
bound X
dim i < I
dim x < X
%u.0 = input{dtype=f32} : [x] f32
%u.2 = copy %u.0 : [x] f32
%u.1 = add %u[i, max(0, x-1)], %u[i, x] : [i, x | i+1 < I] f32
%u = merge{targets=((0, x), (i+1, x))} %u.2 when i == 0, %u.1[i-1, x] when i >= 1 : [i, x] f32
output u = %u[I-1, 0:X]
""",
    "points that depend on another dimension stay loops": """
bound N
dim i < N
dim j < N
%x = input{dtype=f32} : [i, j] f32
%y = exp %x : [i, j | j <= i] f32
%z = exp %x[i, i] : [i] f32
output z = %z[0:N]
output y = %y[N-1, 0:N]
""",
    "causal attention over a whole sequence": """
bound T
dim t < T
%k = input{dtype=f32, shape=(4,)} : [t] f32[4]
%s = matmul %k[0:t+1], %k : [t] f32[t+1]
%a = matmul %s, %k[0:t+1] : [t] f32[4]
output a = %a[0:T]
""",
    "kernels do not read at once what they write at once": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%a = exp %x : [t] f32
%b = sum{axes=(0,)} %a[0:t+1] : [t] f32
%c = mul %a, %b : [t] f32
output c = %c[0:T]
""",
    "a node of which a merge has only some points": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%a = exp %x : [t] f32
%b = mul %a, %x[t+2] : [t | t+2 < T] f32
%y = merge{targets=((t,), (t,))} %b when t+2 < T, %a when t+2 >= T : [t] f32
output y = %y[0:T]
""",
    "the same in a loop": """
bound T
dim t < T
%x = input{dtype=f32} : [t] f32
%a = add %x, %c : [t] f32
%b = exp %a : [t] f32
%c.0 = copy %x[0] : [] f32
%c = merge{targets=((0,), (t+1,), (t+1,))} \
%c.0 when t == 0, %a[t-1] when t >= 1 and t < 3, %b[t-1] when t >= 3 : [t] f32
output c = %c[0:T]
""",
    "noise of choices is drawn before their loop, if as much is stored anyway": ACTING
    + "%p = exp %h : [t] f32[2]\noutput p = %p[0:T]\noutput h = %h[0:T]\n",
    "and with them otherwise": ACTING + "output h = %h[T-1]\n",
}


def test_vectorize(golden: Golden) -> None:
    story = Story()
    for name, text in CASES.items():
        story.tell(name, text, Vectorize())
    golden("passes/vectorize.txt", story.text)


def test_fused_kernels_have_the_same_stars() -> None:
    for text in CASES.values():
        graph = Story().tell("", text, Vectorize(), Fuse()).graph
        for group in graph.groups:
            assert len({graph.nodes[m].vector for m in group.members}) == 1


def test_a_kernel_that_would_read_its_neighbours_is_cut() -> None:
    text = CASES["kernels do not read at once what they write at once"]
    graph = Story().tell("", text, Vectorize(), Fuse()).graph
    homes = {m: g.name for g in graph.groups for m in g.members}
    assert homes["a"] != homes["b"]


@pytest.mark.parametrize(("terms", "size", "stars"), [(2, 64, []), (2, 7, ["m"]), (8, 64, ["m"])])
def test_products_that_sum_few_terms_to_much_stay_with_their_loop(
    terms: int, size: int, stars: list[str]
) -> None:
    text = f"""
bound T
dim t < T
%x = input{{dtype=f32, shape=({terms},)}} : [t] f32[{terms}]
%w = input{{dtype=f32, shape=({size}, {terms})}} : [] f32[{size}, {terms}]
%b = input{{dtype=f32, shape=({size},)}} : [t] f32[{size}]
%m = matmul %w, %x : [t] f32[{size}]
%h.0 = copy %b[0] : [] f32[{size}]
%h.1 = add %h[t-1], %m : [t | t >= 1] f32[{size}]
%h = merge{{targets=((0,), (t,))}} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[{size}]
output h = %h[T-1]
"""
    before = graph(text)
    after = Vectorize().run(before, PassContext(Space(before.universe)))
    assert [n.name for n in after.nodes.values() if n.vector] == stars


@pytest.mark.parametrize(
    ("steps", "size", "stars"), [("", 64, []), (" = 4", 64, ["m", "r"]), (" = 4", 3, [])]
)
def test_few_steps_are_kept_for_a_matrix_that_each_would_read(
    steps: str, size: int, stars: list[str]
) -> None:
    text = f"""
bound G{steps}
dim g < G
%x = input{{dtype=f32, shape=(8,)}} : [] f32[8]
%w = input{{dtype=f32, shape=({size}, 8)}} : [] f32[{size}, 8]
%h.1 = tanh %h[g-1] : [g | g >= 1] f32[8]
%h.0 = copy %x : [] f32[8]
%h = merge{{targets=((0,), (g,))}} %h.0 when g == 0, %h.1 when g >= 1 : [g] f32[8]
%m = matmul %w, %h : [g] f32[{size}]
%r = max{{axes=(0,)}} %m : [g] f32
%s = sum{{axes=(0,)}} %r[0:G] : [] f32
output s = %s
"""
    before = graph(text)
    after = Vectorize().run(before, PassContext(Space(before.universe)))
    assert [n.name for n in after.nodes.values() if n.vector] == stars


@pytest.mark.parametrize(("assumed", "stars"), [("", []), ("assume B <= 8", ["m"])])
def test_what_a_loop_needs_is_kept_where_bounds_are_assumed_to_be_small(
    assumed: str, stars: list[str]
) -> None:
    text = f"""
bound B
bound T
dim b < B
dim t < T
{assumed}
%x = input{{dtype=f32, shape=(64,)}} : [t] f32[64]
%w = input{{dtype=f32, shape=(B, 64)}} : [] f32[B, 64]
%b = input{{dtype=f32, shape=(B,)}} : [] f32[B]
%h.0 = copy %b : [] f32[B]
%m = matmul %w, %x : [t] f32[B]
%h.1 = add %h[t-1], %m : [t | t >= 1] f32[B]
%h = merge{{targets=((0,), (t,))}} %h.0 when t == 0, %h.1 when t >= 1 : [t] f32[B]
output h = %h[T-1]
"""
    before = graph(text)
    after = Vectorize().run(before, PassContext(Space(before.universe)))
    assert [n.name for n in after.nodes.values() if n.vector] == stars
