"""Programs whose dimensions are computed all at once, against the reference evaluator."""

from __future__ import annotations

import pytest
from hypothesis import given, note, strategies as st

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree, free_bounds
from tests.support.generators.programs import Program, programs
from tests.support.generators.settings import generated
from tests.support.session.long import sampled

PASSES = "canonicalize,algebra,canonicalize,vectorize,fuse"
SIZES = ({"B": 1, "T": 1}, {"B": 3, "T": 8})
PROGRAMS = {
    "a batch of recurrences": """
input x[b, t]: f32[3]
h[b, 0] = x[b, 0]
h[b, t+1] = tanh(h[b, t] + x[b, t])
output h
""",
    "a batch that reads its own past within a step": """
input x[b, t]: f32[3]
k[b, t] = 2.0 * x[b, t]
h[b, 0] = sum(k[b, 0:1], axis = 0)
h[b, t] = sum(k[b, 0:t+1] * expand_dims(k[b, 0:t+1] @ h[b, t-1], 1), axis = 0)
output h, k
""",
    "time at once, with windows, reversed, strided and folded reads": """
input x[b, t]: f32[3]
a = exp(x)
w = max(a[b, max(0, t-2):t+1], axis = 0)
r = a[b, T-1-t] + a[b, t//2] * a[b, t % 2 * 0]
f = sum(a[b, t:min(t+3, T)], axis = 0) + sum(a[b, t:T:2], axis = 0)
d = sum(a[t = 0:t], axis = 0)
output w, r, f, d
""",
    "shifts and guards": """
input x[b, t]: f32
u[b, t] = x[b, t] when t == 0
u[b, t] = x[b, t] - x[b, t-1]
v[b, t] = u[b, t+1] when t < T-1
v[b, t] = 0.0 when t == T-1
first[b, t] = v[b, t] when b == 0
first[b, t] = v[b, t] + u[b-1, t]
output u, v, first
""",
    "one dimension carries the other": """
input x[t]: f32
u[0, t] = x[t]
u[b, t] = u[b-1, max(0, t-1)] + u[b-1, t] * u[b-1, min(t+1, T-1)] when b >= 1
last = u[b = B-1]
output last, u[0, 0:T] as first
""",
    "points that depend on another dimension stay in a loop": """
input x[b, t]: f32
y[b, t] = x[b, t] * 2.0 when t <= b
y[b, t] = x[b, t]
z = sum(y[b, 0:t+1]) + f32(b) - f32(t)
output y, z
""",
    "constants along a dimension": """
input x[t]: f32[2]
c[b, t] = 1.5
n[b, t] = i64(t) * i64(b)
d = x * 2.0
e = d + f32(b)
output c, n, e
""",
    "reductions in between": """
input x[b, t]: f32[2]
m = mean(x[t = 0:T], axis = 0)
c = x - m
s = sum((c * c)[b = 0:B, t = 0:T])
y = c / sqrt(s + 1.0)
output y, s
""",
    "choices": """
input x[b, t]: f32
p = x > 0.0
y = cond(p, sqrt(abs(x)), x * x[b, max(0, t-1)])
j = i32(abs(x)) % 2
z[b, t] = x[t = 0 * t] when t == 0
z[b, t] = y[b, t] + y[t = clip(t - j, 0, t) in 0:t+1]
output y, z
""",
    "gradients": """
input x[b, t]: f32[2]
param w: f32[2] = full([2], 0.5)
h[b, 0] = x[b, 0] * w
h[b, t+1] = tanh(h[b, t] * w + x[b, t+1]) when t < T-1
loss = mean(sum(h * h, axis = 0)[b = 0:B, t = 0:T])
g = grad(loss, w)
gx = grad(loss, x)
output loss, g, gx
""",
    "empty ranges, integers and booleans": """
input x[b, t]: f32[2]
input n[b, t]: i32
most[b, t] = max(x[b, 0:t], axis = 0) when t >= 1
most[b, t] = x / zeros([2])
least[b, t] = min(x[b, t+1:T], axis = 0) when t + 1 < T
least[b, t] = log(zeros([2]))
none = sum(n[b, 0:t] * n[b, 0:t]) - prod(n[b, t+2:T])
some[b, t] = any(n[b, 0:t] > 3) when t >= b
some[b, t] = all(n[b, t:T] % 2 == 0)
last = argmax(n[b, 0:t+1])
output most, least, none, some, last
""",
    "shapes that vary": """
input x[b, t]: f32[3]
s = x[b, 0:t+1] @ x
p = exp(s - max(s))
y = (p / sum(p)) @ x[b, 0:t+1]
f = flip(s, axis = 0)[0] + size(s, 0) * 0.5
g = concat([s, x], 0)
h = sum(g * g) + sum(cumsum(g))
output y, f, h
""",
    "a loop between what is made before and after it": """
input x[b, t]: f32[3]
param w: f32[3, 3] = 0.5 * eye(3)
a = tanh(w @ x)
h[b, 0] = a[b, 0]
h[b, t+1] = tanh(h + a[b, t+1]) when t + 1 < T
y = (w @ h) * sum(h[b, t:T], axis = 0)
v[b, T-1] = y[b, T-1]
v[b, t-1] = 0.5 * v + y[b, t-1] when t >= 1
z = w @ v
loss = mean((z * z)[b = 0:B, t = 0:T])
g = grad(loss, w)
output z, loss, g
""",
    "draws": """
k[b, t] = random.uniform([2])
n = random.normal([3])
s[b, 0] = random.bernoulli(0.5)
s[b, t] = random.bernoulli(where(s[b, t-1], 0.2, 0.8))
output k, s, n
""",
}


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_compiled_programs_agree(name: str) -> None:
    agree(f"dim b < B\ndim t < T\n{PROGRAMS[name]}", *SIZES, passes=PASSES)


def loops(text: str) -> str:
    """The loops of a program."""
    options = Options(passes=PASSES, verify_each=True)
    return str(Compilation(load_source(Source("m.rt", text)), options).tree)


@pytest.mark.parametrize(
    ("name", "gone", "left"),
    [
        ("a batch of recurrences", "b", "t"),
        ("a batch that reads its own past within a step", "b", "t"),
        ("time at once, with windows, reversed, strided and folded reads", "b t", ""),
        ("shifts and guards", "t", ""),
        ("one dimension carries the other", "t", "b"),
        ("points that depend on another dimension stay in a loop", "", ""),
        ("reductions in between", "b t", ""),
        ("choices", "b", ""),
        ("shapes that vary", "b t", ""),
        ("a loop between what is made before and after it", "b", "t"),
        ("draws", "b", "t"),
    ],
)
def test_loops_that_are_gone(name: str, gone: str, left: str) -> None:
    text = loops(f"dim b < B\ndim t < T\n{PROGRAMS[name]}")
    for dim in gone.split():
        assert f"var='{dim}'" not in text
    for dim in left.split():
        assert f"var='{dim}'" in text


@given(program=programs(), special=st.booleans())
@generated(3, long=10)
def test_generated_programs_agree(program: Program, special: bool) -> None:
    note(program.text)
    free = free_bounds(program.text)
    sizes = (dict(zip(free, size, strict=False)) for size in ((1, 1, 1), (4, 3, 2)))
    agree(program.text, *sizes, special=special, passes=PASSES)


def test_a_cycle_that_no_plain_loop_carries_ends_the_search() -> None:
    text = """
dim i < I
input a: f32[4]
w[0] = zeros([4])
w[i+1] = w - 0.1 * (g + 0.5 * d)
g = tanh(w - a)
y[i] = g[i+1] - g when i + 1 < I
d[i] = y[i-1] * 2.0 when i >= 1
d[i] = zeros([4])
output w
"""
    assert "Loop" in loops(text)
