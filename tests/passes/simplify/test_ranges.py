"""Positions that are proved to be inside are not checked, others are."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.tensor.arithmetic import FloorDivide, Remainder
from tempoc.symbolic.text import show

HEAD = """
dim t < T
input x[t]: f32[8]
input k[t]: i32
input g: i32
input u[t]: u8
input z[t]: f32
input w: f32[16]
input v: f32[256]
"""
INSIDE = """
a = w[argmax(x)]
b = w[bitwise_xor(arange(8), bitwise_and(k, 7))]
c = w[left_shift(bitwise_and(k, 1), 3) + bitwise_or(k % 4, 3)]
d = v[i32(u)]
e = w[where((k >= 0) and (k < 16), k, 3)]
f = w[i32(clip(z * 8.0, 0.0, 15.0))]
h = w[sum(i32(x > 0.0)) + 7]
l = w[searchsorted(x, z)]
m = w[maximum(argmax(x) - 1, 0)]
n = w[top_k(x, 2)[1]]
o[0] = 0
o[t] = where(x[t][0] > 0.0, (o[t-1] + 5) % 16, 15 - o[t-1]) when t >= 1
p = w[o]
q[0] = 3
q[t] = where(q[t-1] + 1 >= 16, 0, q[t-1] + 1) when t >= 1
r = w[q]
ring[0] = zeros([4], dtype = i32)
ring[t] = put(ring[t-1], k % 4, argmin(x[t])) when t >= 1
s = w[ring]
i = w[k % 16 - 1]
j = put(w, bitwise_and(k, 31) - 16, z)
y = w[i32(t % 2 == 0) + 14]
output a, b, c, d, e, f, h, i, j, l, m, n, p, r, s, y
"""
OUTSIDE = """
a = w[bitwise_xor(k % 16, g)]
b = w[k % 18 - 1]
c = v[i32(u) + 1]
d = w[where((k >= 0) or (k < 16), k, 3)]
e = w[i32(minimum(z, 15.0))]
f = w[sum(i32(x > 0.0)) * 2]
h = w[searchsorted(x, z) + 8 + k % 2]
l[0] = 0
l[t] = where(x[t][0] > 0.0, l[t-1] + 1, 0) when t >= 1
m = w[l]
n = w[left_shift(k % 4, k % 8)]
o = w[where(k < 16, 3, k)]
output a, b, c, d, e, f, h, m, n, o
"""


NATURAL = """
dim s < S = 5
n = arange(32)
half = left_shift(1, s)
a = n // half
b = n % half
c = right_shift(left_shift(3, s), 1) // 2
e = argmax(x) % (k % 4 + 1)
output a, b, c, e
"""
SIGNED = """
a = k // 3
b = (k % 4 - 1) % 3
c = 8 // (k % 4)
d = arange(8) % k
e = z // 2.0
f = u // 2
output a, b, c, d, e, f
"""


@pytest.mark.parametrize(("equations", "count"), [(NATURAL, 4), (SIGNED, 0)])
def test_natural_numbers_are_divided_without_signs(equations: str, count: int) -> None:
    program = load_source(Source("m.rt", HEAD + equations))
    nodes = Compilation(program, Options()).optimized.nodes.values()
    divisions = [n.op for n in nodes if isinstance(n.op, FloorDivide | Remainder)]
    assert sum(op.natural for op in divisions) == count


def checked(equations: str) -> set[str]:
    """The results that a position decides which the run has to check."""
    program = load_source(Source("m.rt", HEAD + equations))
    graph = Compilation(program, Options(passes="canonicalize,algebra,canonicalize")).optimized
    return {o.name for o in graph.outputs if graph.nodes[o.source].op.checks}


def test_what_is_proved_is_not_checked() -> None:
    assert checked(INSIDE) == set()


def test_what_is_not_proved_is_checked() -> None:
    assert checked(OUTSIDE) == {*"abcdefhmno"}


SAME = """
dim t < T
input x[t]: f32[6]
input places: i32[4]
y[0] = 0.0
y[t] = y[t-1] + sum(x[t][places]) when t >= 1
output y
"""

EDGES = """
dim k < K until settled
dim e < E
dim n < N
input tail[e]: i32
input head[e]: i32
way[0, n] = where(n == 0, 0.0, 9.0)
near[k] = minimum(way[k, 0:N], segment_min((way[k, 0:N][tail] + 1.0)[e = 0:E], head[0:E], N))
way[k+1, n] = near[k][n]
settled = not any(near < way[k, 0:N])
output near[K-1] as near
"""
LATER = EDGES.replace(
    "any(near < way[k, 0:N])", "any((near < way[k, 0:N])[0:2]) or k >= 3"
).replace("near[k] =", "near[k] = ones([N]) when k < 2\nnear[k] =")


def _checking(text: str) -> list[tuple[str, ...]]:
    """The dimensions of what checks positions, before domains are reduced."""
    options = Options(passes="canonicalize,algebra,canonicalize")
    graph = Compilation(load_source(Source("m.rt", text)), options).optimized
    return sorted(n.domain.dims for n in graph.nodes.values() if n.op.checks)


def test_positions_are_checked_once_where_the_end_of_a_loop_needs_them() -> None:
    assert _checking(EDGES) == [(), ("e",)]


def test_positions_that_not_each_loop_needs_are_checked_in_it() -> None:
    assert _checking(LATER) == [("k",), ("k", "e")]


def test_positions_are_checked_once_if_any_point_uses_them() -> None:
    options = Options(passes="canonicalize,algebra,canonicalize")
    graph = Compilation(load_source(Source("m.rt", SAME)), options).optimized
    (node,) = (n for n in graph.nodes.values() if n.op.checks)
    assert not node.domain.dims and show(node.domain.where) == "T >= 2"
