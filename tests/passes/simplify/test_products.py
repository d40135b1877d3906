"""Sums of products become contractions where no product of all factors need be made."""

from __future__ import annotations

import pytest

from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.canonicalize import Canonicalize
from tests.support.agreement import agree
from tests.support.generators.graphs import Story

HEAD = """
bound N
bound M
bound P
dim n < N
dim m < M
dim p < P
%x = input{dtype=f32} : [n, p] f32
%y = input{dtype=f32} : [m, p] f32
%u = input{dtype=f32, shape=(3,)} : [n] f32[3]
%v = input{dtype=f32, shape=(3,)} : [m] f32[3]
%s = input{dtype=f32} : [n] f32
%q = input{dtype=f32} : [p] f32
"""
CONTRACTED = {
    "all pairs": """
%a = mul %u, %v : [n, m] f32[3]
%b = sum{axes=(0,)} %a : [n, m] f32
""",
    "means of all pairs of slices": """
%a = mul %x[n, 0:P], %y[m, 0:P] : [n, m] f32[P]
%b = mean{axes=(0,)} %a : [n, m] f32
""",
    "weighted, with a divisor that both may have": """
%a = mul %x, %q : [n, p] f32
%c = mul %a[n, p], %y[m, p] : [n, m, p] f32
%d = div %c, %s : [n, m, p] f32
%b = sum{axes=(0,)} %d[n, m, 0:P] : [n, m] f32
""",
}
STAYS = {
    "one varies as the other does": """
%a = mul %x[n, 0:P], %q[0:P] : [n] f32[P]
%b = sum{axes=(0,)} %a : [n] f32
""",
    "the product is needed": """
%a = mul %u, %v : [n, m] f32[3]
%b = sum{axes=(0,)} %a : [n, m] f32
output a = %a[0:N, 0:M]
""",
    "only divisors vary with m": """
%a = div %u, %v : [n, m] f32[3]
%b = sum{axes=(0,)} %a : [n, m] f32
""",
}


ROWS = """
%z = input{dtype=f32, shape=(3,)} : [n, p] f32[3]
%a = mul %x, %z : [n, p] f32[3]
%c = div %a, %y[n, p] : [n, p] f32[3]
%b = sum{axes=(0,)} %c[n, 0:P] : [n] f32[3]
"""


def _end(text: str) -> str:
    dims = "0:N, 0:M" if ": [n, m] f32\n" in text else "0:N"
    return f"{HEAD}{text}output b = %b[{dims}]\n"


@pytest.mark.parametrize("name", CONTRACTED)
def test_pairs_are_contracted(name: str) -> None:
    steps = (Canonicalize(), Algebra(), Canonicalize())
    after = Story().tell(name, _end(CONTRACTED[name]), *steps, rounded=True).graph
    assert any(node.op.contraction for node in after.nodes.values())
    assert not any(len(n.types[0].shape) + len(n.domain.dims) > 2 for n in after.nodes.values())


def test_weighted_rows_are_a_product_with_a_matrix() -> None:
    head = HEAD.replace("%y = input{dtype=f32} : [m, p]", "%y = input{dtype=f32} : [n, p]")
    text = f"{head}{ROWS}output b = %b[0:N]\n"
    after = Story().tell("rows", text, Algebra(), rounded=True).graph
    assert [n.op.name for n in after.nodes.values() if n.op.contraction] == ["matmul"]


@pytest.mark.parametrize("name", STAYS)
def test_others_stay(name: str) -> None:
    after = Story().tell(name, _end(STAYS[name]), Algebra(), rounded=True).graph
    assert not any(node.op.contraction for node in after.nodes.values())


COUNTS = """
dim b < B
dim t < T
input a[b, t]: f32[3]
input c[b, t]: f32[3]
input s[b, t]: f32
input w: f32[3, 3]
pair[b, t] = w * expand_dims(a[b, t], 1) * c[b, t+1] / (1.0 + s[b, t+1] ** 2) when t + 1 < T
moves = sum(pair[0:B, 0:T-1], axis = [0, 1])
each = sum(pair[b, 0:T-1], axis = [0, 2])
"""
CHAIN = """
dim t < T
dim n < N
input x[n]: f32[3]
input w: f32[3]
h[0] = w
h[t] = tanh(h[t-1] + mean((x[n = 0:N] * h[t-1])[0:N], axis = 0))
gram[t, n] = mean(x[n] * h[t])
total = sum(gram[0:T, 0:N] * 2.0)
moved = sum((expand_dims(h, 1) * h / (2.0 + w))[t = 0:T], axis = 0)
slope = grad(total, w)
output h, gram, moved, slope
"""


def test_counts_of_a_model() -> None:
    text = COUNTS + "output moves, each\n"
    agree(text, *({"B": b, "T": t} for b, t in ((1, 2), (2, 3), (3, 7))))


def test_in_a_recurrence_and_its_gradient() -> None:
    agree(CHAIN, *({"T": t, "N": n} for t, n in ((1, 1), (2, 3), (3, 2), (5, 4))))
