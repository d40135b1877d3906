"""Triangular systems: which recurrences become solves, and that both mean the same."""

from __future__ import annotations

import pytest

from tempoc.ops.linear.solve import TriangularSolve
from tempoc.passes.context import PassContext
from tempoc.passes.dispatch.triangular import Triangular
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tests.support.generators.graphs import Story, graph
from tests.support.golden import Golden

HEAD = """
bound N
bound M = N
bound R
dim r < R
dim i < N
dim j < M
%b = input{dtype=f32} : [r, i] f32
%a = input{dtype=f32} : [i, j] f32
%c = tanh %a : [i, j] f32
%two = literal{value=2.0, dtype=f32} : [] f32
%A = add %c, %two : [i, j] f32
"""
MATRICES = """%s = input{dtype=f32, shape=(N, N)} : [r] f32[N, N]
%row = getitem{entries=(i, (0, i, 1))} %s : [r, i] f32[i]
"""
SOLVES = {
    "columns, from the first row": """%z.p = matmul %A[i, 0:i], %z[r, 0:i] : [r, i] f32
%z.s = sub %b, %z.p : [r, i] f32
%z = div %z.s, %A[i, i] : [r, i] f32
output z = %z[0:R, 0:N]
""",
    "a derivative: columns of the matrix, the last step apart": """%n = neg %w : [r, i] f32
%w.m = mul %n[r, i+1:N], %A[i+1:N, i] : [r, i | i < N-1] f32[max(0, N-1-i)]
%w.c = copy %w.m : [r, i | i < N-1] f32[N-1-i]
%w.p = sum{axes=(0,)} %w.c : [r, i | i < N-1] f32
%w.0 = add %b, %w.p : [r, i | i < N-1] f32
%w.1 = copy %b : [r, i | i == N-1] f32
%w.s = merge{targets=((r, i), (r, i))} %w.0 when i < N-1, %w.1 when i == N-1 : [r, i] f32
%w = div %w.s, %A[i, i] : [r, i] f32
output w = %w[0:R, 0:N]
""",
    "a matrix for each point, without a division": MATRICES + """\
%z.p = matmul %z[r, 0:i], %row : [r, i] f32
%z = add %z.p, %b : [r, i] f32
output z = %z[0:R, 0:N]
""",
    "from the second step on, times a number": """%z.p = sum{axes=(0,)} %z.m : [r, i | i >= 1] f32
%z.m = mul %A[i, i+1:N], %z[r, i+1:N] : [r, i | i >= 1] f32[N-1-i]
%z.t = mul %z.p, %two : [r, i | i >= 1] f32
%z = sub %z.t, %b : [r, i | i >= 1] f32
output z = %z[0:R, 1:N]
""",
    "a number that is defined where there is a second step": """\
%half = literal{value=0.5, dtype=f32} : [| N >= 2] f32
%z.p = matmul %A[i, 0:i], %z[r, 0:i] : [r, i | i >= 1] f32
%z.t = mul %z.p, %half : [r, i | i >= 1] f32
%z.1 = sub %b, %z.t : [r, i | i >= 1] f32
%z.0 = copy %b : [r, i | i == 0] f32
%z = merge{targets=((r, i), (r, i))} %z.0 when i == 0, %z.1 when i >= 1 : [r, i] f32
output z = %z[0:R, 0:N]
""",
    "the first step divides by itself": """%z.0 = div %b[r, 0], %A[0, 0] : [r] f32
%z.p = matmul %A[i, 0:i], %z[r, 0:i] : [r, i | i >= 1] f32
%z.s = sub %b, %z.p : [r, i | i >= 1] f32
%z.1 = div %z.s, %A[i, i] : [r, i | i >= 1] f32
%z = merge{targets=((r, 0), (r, i))} %z.0 when i == 0, %z.1 when i >= 1 : [r, i] f32
output z = %z[0:R, 0:N]
""",
}  # fmt: skip
LOOPS = {
    "divided by another element": "%z.s = sub %b, %z.p : [r, i] f32\n"
    "%z = div %z.s, %A[i, 0] : [r, i] f32\n",
    "the product is divided alone": "%z.s = div %z.p, %A[i, i] : [r, i] f32\n"
    "%z = sub %b, %z.s : [r, i] f32\n",
    "the product is no term": "%z.s = sub %b, %z.p : [r, i] f32\n%z = tanh %z.s : [r, i] f32\n",
    "sums of products of three": "%z.v = mul %A[i, 0:i], %z[r, 0:i] : [r, i] f32[i]\n"
    "%z.q = matmul %z.v, %A[i, 0:i] : [r, i] f32\n%z.s = sub %b, %z.q : [r, i] f32\n"
    "%z = div %z.s, %A[i, i] : [r, i] f32\n",
    "of the other sign": "%z.s = add %b, %z.p : [r, i] f32\n%z = div %z.s, %A[i, i] : [r, i] f32\n",
}
PRODUCT = "%z.p = matmul %A[i, 0:i], %z[r, 0:i] : [r, i] f32\n"


def test_solves(golden: Golden) -> None:
    story = Story()
    for name, text in SOLVES.items():
        outcome = story.tell(name, HEAD + text, Vectorize(), Triangular(), rounded=True)
        assert any(r.step == "solves" for r in outcome.remarks), name
    golden("passes/solves.txt", story.text)


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_what_is_no_solve_stays(text: str) -> None:
    before = graph(HEAD + PRODUCT + text + "output z = %z[0:R, 0:N]\n")
    after = Triangular().run(before, PassContext(Space(before.universe)))
    assert after == before


def test_a_batch_of_small_matrices_stays_a_loop_over_rows() -> None:
    text = (
        HEAD.replace("bound N", "bound N = 3")
        + SOLVES["a matrix for each point, without a division"]
    )
    context = PassContext(Space((before := graph(text)).universe))
    vectorized = Vectorize().run(before, context)
    nodes = [Triangular(least=n).run(vectorized, context).nodes.values() for n in (3, 4)]
    counts = [sum(isinstance(x.op, TriangularSolve) for x in found) for found in nodes]
    assert counts == [1, 0]
