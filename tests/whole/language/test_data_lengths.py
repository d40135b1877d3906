"""Lengths that the data decide: `length`, `nonzero`, `filter`, `unique`."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree

HEAD = "dim t < T\ninput x[t]: f32\n"
PROGRAMS = {
    "plain": HEAD + """
pos = nonzero(x[0:T] > 0.0) as i32[k]
z = filter(x[0:T], x[0:T] > 0.0, most = T)
y = sum(z * z) + k
u = unique(round(2.0 * x[0:T]), most = T + 2)
w = x[0:T][0:k]
output pos, z, y, u, w
""",
    "a batch": "dim b < B\ndim t < T\ninput x[b, t]: f32[2]\n" + """
rows = x[b, 0:T]
z = filter(rows, (rows)[:, 0] > 0.0) as f32[k, 2]
m = sum(z, axis = 0)
c = k
s = sum(unique(floor(reshape(rows, [-1]))))
output m, c, s
""",
    "a count": HEAD + """
input n: i32
m = n % (T + 1)
count = maximum(m, -m)
k = length(count, most = T)
y = sum(x[0:T][0:k])
output y
""",
    "two that must agree": "dim b < B\ndim t < T\ninput x[b, t]: f32\n" + """
n = length(sum(i32(x[b, 0:T] > 0.0)), T)
z = x[b, 0:T][nonzero(x[b, 0:T] > 0.0, T)[0:n]] as f32[n]
y = sum(z)
output y
""",
    "growing": HEAD + """
z = filter(x[0:t+1], x[0:t+1] > 0.0, most = T)
y = sum(z) + size(z, 0)
output y
""",
    "a recurrence": HEAD + """
h[0] = x[0]
h[t] = sum(filter(x[0:t+1], x[0:t+1] > h[t-1], most = T)) + 0.5 * h[t-1] when t >= 1
output h
""",
    "a gradient": HEAD + """
z = filter(x[0:T], x[0:T] > 0.0)
y = sum(z * z)
g = grad(y, x)
output y, g
""",
    "one of another": HEAD + """
z = filter(x[0:T], x[0:T] > -0.5)
w = filter(z, z < 0.5)
u = unique(round(w))
output z, w, u
""",
    "in functions": HEAD + """
def positive(v: f32[n]) -> f32[k] {
  p = filter(v, v > 0.0) as f32[k]
  return p * k
}
a = positive(x[0:T])
b = sum(positive(-x[0:T]))
output a, b
""",
    "of integers": "dim t < T\ninput x[t]: i32\n" + """
v = x[0:T] % 5
u = unique(v) as i32[k]
counts = sum(i32(expand_dims(u, 1) == expand_dims(v, 0)), axis = 1)
output u, counts
""",
    "padded": HEAD + """
z = filter(x[0:T], x[0:T] > 0.0) as f32[k]
y = pad(z, [[0, T - k]])
h[t] = y[t] + (h[t-1] if t >= 1 else 0.0)
output y, h
""",
    "of a length": "dim t < T = 9 until stop\ninput x[t]: f32\nstop = x > 0.8\n" + """
z = filter(x[0:T], x[0:T] > 0.0)
y = sum(z)
output z, y
""",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text = PROGRAMS[name]
    sizes = [{"T": size} for size in (1, 2, 7)]
    if "dim b" in text:
        sizes = [{"B": 2, **size} for size in sizes]
    agree(text, *([{}] if "T = 9" in text else sizes))
