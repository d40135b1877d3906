"""Recurrences that become scans, compiled, against the reference evaluator."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.recurrence import Recurrence
from tests.support.agreement import agree
from tests.support.session.long import in_turns

BATCH = "dim b < B\ndim t < T\n"
TIME = "dim t < T\n"
SIZES = (1, 2, 8)
PROGRAMS = {
    "returns and advantages, with resets": (
        2,
        f"""import rl
{BATCH}input r[b, t]: f32
input v[b, t]: f32
input done[b, t]: bool
g = rl.returns(r, done, 0.5, t)
a = rl.gae(r, v, done, 0.0, t)
l = rl.lambda_returns(r, v, done, 0.0, t)
ratio = exp(v)
target, adv = rl.vtrace(r, v, done, 0.0, ratio, t)
best = mean(a[b = 0:B, t = 0:T])
output g, a, l, target, adv, best
""",
    ),
    "a diagonal layer and its derivatives": (
        3,
        f"""import ssm
{TIME}input x[t]: f32[3]
input a[t]: f32[3]
param w: f32[3] = 0.5 * ones([3])
h = ssm.recur(a, x * w, t)
loss = sum((h * h)[t = 0:T])
slope, along = grad(loss, w), grad(loss, a)
twice = grad(sum(slope), x)
output h, slope, along, twice
""",
    ),
    "complex states": (
        1,
        f"""import ssm
{TIME}input x[t]: f32[2]
input y[t]: f32[2]
input a: f32[2]
h = ssm.crecur({{re: 0.5 * cos(a), im: 0.5 * sin(a)}}, {{re: x, im: y}}, t)
output h.re as re, h.im as im
""",
    ),
    "cumulative statistics, each written as a recurrence": (
        7,
        f"""{TIME}input x[t]: f32
input n[t]: i32
s[0] = x[0]
s[t] = s[t-1] + x
p[t] = p[t-1] * x when t >= 1
p[0] = x[0]
m[0] = x[0]
m[t] = maximum(m[t-1], x)
l[0] = x[0]
l[t] = maximum(l[t-1], x) + log1p(exp(-abs(l[t-1] - x)))
e[0] = x[0]
e[t+1] = 0.9 * e[t] + (1.0 - 0.9) * x[t+1]
c[0] = n[0]
c[t] = c[t-1] * 3 + n
any[T-1] = x[T-1] > 0.5
any[t] = any[t+1] or x > 0.5
mean = s / f32(t + 1)
output s, p, m, l, e, c, any, mean
""",
    ),
    "linear in any spelling": (
        4,
        f"""{BATCH}input x[b, t]: f32[2]
input g[t]: f32[2]
input off[b, t]: bool
h[b, 0] = x[b, 0]
h[b, t] = h[b, t-1] - 0.1 * (h[b, t-1] + x) * g
k[b, T-1] = zeros([2])
k[b, t] = where(off, 0.0, k[b, t+1]) * g + x
u[b, t] = x + g * (u[b, t-1] + 1.0) / 2.0 when t >= 1
u[b, t] = x
f[b, t] = -f[b, t-1] * g when t >= 3
f[b, t] = x
output h, k, u, f
""",
    ),
    "matrices": (
        2,
        f"""{TIME}input x[t]: f32[2]
input m[t]: f32[2, 2]
h[0] = x[0]
h[t] = 0.5 * m @ h[t-1] + x
p[0] = m[0]
p[t] = 0.5 * m @ p[t-1] @ m.T
output h, p
""",
    ),
}


# States with further equations: a branch also has values where the state takes none.
FURTHER = {
    "the first two points are given": f"""{TIME}input w: f32
x[t] = 1.0 when t < 2
x[t+1] = n
n = tanh(w * x) + 0.1
output n, x
""",
    "backwards, until two from the end": f"""{TIME}input w[t]: f32
x[t] = 1.0 when t >= T - 2
x[t-1] = n
n = tanh(w * x) + 0.1
output n, x
""",
    "layer after layer, then the next step": f"""{TIME}dim l < L = 3
input w[l]: f32[2, 2]
input start: f32[2]
x[0, 0] = start
x[t, 0] = y[t-1, L-1]
x[t, l+1] = y
y[t, l] = x + tanh(w @ x)
output y[l = L-1] as states, x[t = T-1] as last
""",
    "episode after episode, a record": f"""dim b < B
{TIME}input th: f32
s[0, 0] = {{th: th, v: 0.0}}
s[b, t+1] = n
s[b+1, 0] = {{th: 0.5 * n[b, T-1].th, v: n[b, T-1].v}}
n = {{th: s.th + 0.05 * s.v, v: s.v - 0.05 * sin(s.th)}}
output n.th as th, s.v as v
""",
    "chunk after chunk": f"""dim b < B
{TIME}input u[b, t]: f32[2]
input w: f32[2, 2]
h[0, 0] = u[0, 0]
h[b, t+1] = h2
h[b+1, 0] = h2[b, T-1]
h2 = tanh(w @ h + u)
loss = sum((h2 * h2)[b = 0:B, t = 0:T])
g = grad(loss, w)
output h2, h, g
""",
    "one of several results, resets": f"""{TIME}input x[t]: f32[2]
h[t] = x when t % 4 == 0
h[t+1] = b
a, b = split(concat([tanh(h), x], 0), 2, 0)
output a, b, h
""",
}


@pytest.mark.parametrize("name", FURTHER)
def test_states_with_further_equations(name: str) -> None:
    text = FURTHER[name]
    bounds = [{"T": n, "B": 3} if "dim b" in text else {"T": n} for n in (1, 2, 3, 5)]
    agree(text, *bounds)


@pytest.mark.parametrize(
    ("name", "special"), in_turns(PROGRAMS, (False, True), "plain and special")
)
def test_scans_say_what_the_evaluator_says(name: str, special: bool) -> None:
    count, text = PROGRAMS[name]
    options = Options(level=2)
    optimized = Compilation(load_source(Source("m.rt", text)), options).optimized
    scans = [n for n in optimized.nodes.values() if isinstance(n.op, Recurrence)]
    assert len(scans) >= count
    sizes = SIZES[1:] if special else SIZES[::2]
    bounds = [{"T": n, "B": 2} if "dim b" in text else {"T": n} for n in sizes]
    agree(text, *bounds, special=special)
