"""Sums of products become contractions where no product of all factors need be made."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
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


BILINEAR = """
dim t < T
input h[t]: f32[64]
input g[t]: f32[65]
input w: f32[64, 65]
input one: f32[1]
big[t] = einsum("i,j->ij", h, g)
a = sum(big * w)
b = sum(w * expand_dims(h, 1) * g)
c[t] = mean(einsum("i,j->ji", h, g) * w.T)
d[t] = sum(einsum("i,j->ij", one, g) * w)
e[t] = sum(big * w, axis = 1)
f[t] = sum(einsum("i,j->ij", h, g) * w / (1.0 + (h)[0] ** 2))
last = big[T-1]
slope = grad(a, w)
other = grad(b, h)
output a, b, c, d, e, f, last, slope, other
"""


def test_a_matrix_between_two_vectors() -> None:
    agree(BILINEAR, *({"T": t} for t in (1, 2, 3, 9)))


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_no_product_of_two_vectors_is_made_for_a_sum(name: str) -> None:
    text = "".join(line for line in BILINEAR.splitlines(True) if line[:4] not in ("last", "slop"))
    text = text.replace("other = grad(b, h)\n", "")
    text = f"{text[: text.index('output')]}output {name}\n"
    nodes = Compilation(load_source(Source("m.rt", text)), Options()).optimized.nodes
    assert not [n.name for n in nodes.values() if n.domain.dims and n.types[0].ndim > 1]
    assert any(n.op.name == "matmul" for n in nodes.values())


def test_a_small_matrix_stays_in_the_sum() -> None:
    text = BILINEAR.replace("64", "3").replace("65", "4")
    text = f"{text[: text.index('last')]}output a, b, c, d, e, f\n"
    nodes = Compilation(load_source(Source("m.rt", text)), Options()).optimized.nodes
    assert not any(n.op.name == "matmul" for n in nodes.values() if n.name.startswith(("a", "b")))
    agree(text, *({"T": t} for t in (1, 2, 5)))


def test_one_of_a_matrix_for_each_point_is_a_sum() -> None:
    text = BILINEAR.replace("w: f32", "w[t]: f32").replace("slope = grad(a, w)\n", "")
    text = f"{text[: text.index('output')]}output a, b, c, d, e, f\n"
    agree(text, *({"T": t} for t in (1, 2, 5)))


EMPTY = """
dim t < T
input x[t]: f32[4]
input w: f32[4]
y[t] = 0.7 * (sum(x) * w[1]) when t >= 1
total = sum(y[1:T], axis = 0)
output total
"""


def test_a_factor_of_an_empty_sum_may_not_be_defined() -> None:
    agree(EMPTY, *({"T": t} for t in (1, 2, 4)))


def test_a_number_is_a_factor_of_an_empty_sum() -> None:
    source = Source("m.rt", EMPTY.replace("sum(x) * w[1]", "x"))
    graph = Compilation(load_source(source), Options(verify_each=True)).optimized
    assert graph.nodes["total"].op.name == "mul"
