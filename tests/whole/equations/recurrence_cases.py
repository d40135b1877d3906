"""Systems of equations: shifts, guards, cycles, skewed and reversed orders, holes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tests.whole.language.harness import Case, case

CASES: list[Case] = []
Array = Any
SIZES = ({"T": 1}, {"T": 2}, {"T": 3}, {"T": 7})
GRID = ({"I": 1, "T": 1}, {"I": 4, "T": 3}, {"I": 3, "T": 2}, {"I": 2, "T": 5})


@case(
    CASES,
    """dim t < T
input x[t]: f32
a[t-2] = f32(t)
a[t+1] = 100. + t
a[0] = -1.0
b[0] = 1.0
b[1] = 2.0
b[t+2] = b[t+1] + b[t]
p[t+1], q[t-1] = x, x * 2.
p[0] = 9.
q[T-1] = 8.
output a, b, p, q""",
    *SIZES,
)
def shifted_targets(T: int, x: Array) -> Array:
    b = [1.0, 2.0]
    while len(b) < T:
        b.append(b[-1] + b[-2])
    return {
        "a": np.array([p + 2.0 if p + 2 < T else 99.0 + p if p else -1.0 for p in range(T)]),
        "b": np.array(b[:T]),
        "p": np.array([9.0, *x[:-1]]),
        "q": np.array([*(2 * x[1:]), 8.0]),
    }


@case(
    CASES,
    """dim t < T
input x[t]: f32
y[t] = 10.0 when t % 3 == 0
y[t] = 20.0 when t >= 4
y[t] = f32(t) + 0.5
h[t] = x * 2. when t >= 2
z[t] = h[t] + h[t-1] when t >= 3 and not (t == 5 or t == T - 1)
z[t] = 0.
e[t] = e[t-2] + x when t % 2 == 0 and t >= 2
e[t] = x when t == 0
e[t] = e[t+2] * 0.5 + x when t % 2 == 1 and t + 2 < T
e[t] = x
k = sum(h[2:T])
output y, z, e, k, h[2:T] as tail""",
    *SIZES,
)
def first_match_and_holes(T: int, x: Array) -> Array:
    e = x.copy()
    for t in range(2, T, 2):
        e[t] = e[t - 2] + x[t]
    for t in range(T - 3, 0, -1):
        e[t] = e[t + 2] * 0.5 + x[t] if t % 2 else e[t]
    return {
        "y": np.array([10.0 if t % 3 == 0 else 20.0 if t >= 4 else t + 0.5 for t in range(T)]),
        "z": np.array(
            [2 * (x[t] + x[t - 1]) if t >= 3 and t not in (5, T - 1) else 0.0 for t in range(T)]
        ),
        "e": e,
        "k": 2 * x[2:].sum(),
        "tail": 2 * x[2:],
    }


@case(
    CASES,
    """dim t < T
input x[t]: f32
a[t] = b[t-1] + c[t-2] when t >= 2
a[t] = x
b[t] = c[t] * 0.5 + a[t]
c[t] = a[t-1] + d[t] when t >= 1
c[t] = d[t]
d[t] = sum(a[0:t]) * 0.1 + x
r[t] = sum(r[t+1:min(t+3, T)]) + b[t]
m[t] = a[t] * r[T-1-t]
output c, r, m, d[T-1] as last""",
    *SIZES,
)
def cycle_of_four(T: int, x: Array) -> Array:
    a, b, c, d, r = (np.zeros(T) for _ in range(5))
    for t in range(T):
        a[t] = b[t - 1] + c[t - 2] if t >= 2 else x[t]
        d[t] = a[:t].sum() * 0.1 + x[t]
        c[t] = (a[t - 1] if t else 0) + d[t]
        b[t] = c[t] * 0.5 + a[t]
    for t in reversed(range(T)):
        r[t] = r[t + 1 : t + 3].sum() + b[t]
    return {"c": c, "r": r, "m": a * r[::-1], "last": d[-1]}


@case(
    CASES,
    """dim i < I
dim t < T
input g[t]: f32
x[i, 0] = f32(i)
x[0, t] = g[t]
x[i, t] = x[i, t-1] + 0.5 * x[i-1, t+1] if t < T-1 else x[i, t-1]
u[I-1, t] = x[I-1, t]
u[i, t] = u[i+1, t-1] + x[i, t] when t >= 1
u[i, t] = u[i+1, T-1]
s[t] = sum(u[0:I, t])
output x, u, s""",
    *GRID,
)
def skewed(I: int, T: int, g: Array) -> Array:  # noqa: E741
    @cache
    def x(i: int, t: int) -> float:
        if t == 0 or i == 0:
            return float(i) if t == 0 else float(g[t])
        return x(i, t - 1) + (0.5 * x(i - 1, t + 1) if t < T - 1 else 0.0)

    @cache
    def u(i: int, t: int) -> float:
        if i == I - 1:
            return x(i, t)
        return u(i + 1, t - 1) + x(i, t) if t else u(i + 1, T - 1)

    both = [np.array([[f(i, t) for t in range(T)] for i in range(I)]) for f in (x, u)]
    return {"x": both[0], "u": both[1], "s": both[1].sum(0)}


@case(
    CASES,
    """dim i < I
dim t < T
input x[t]: f32
w[0] = 0.5
w[i+1] = w[i] - 0.1 * mean(e[i, 0:T] * x[0:T])
h[i, 0] = 0.
h[i, t+1] = w[i] * h[i, t] + x[t]
e[i, t] = h[i, t] - x[t]
best[0] = sum(e[0, 0:T] ** 2)
best[i] = minimum(best[i-1], sum(e[i, 0:T] ** 2))
output w, best, h[I-1, T-1] as h""",
    *GRID,
)
def loops_in_loops(I: int, T: int, x: Array) -> Array:  # noqa: E741
    w, losses = [0.5], []
    for _ in range(I):
        h = [0.0]
        for t in range(T - 1):
            h.append(w[-1] * h[-1] + x[t])
        losses.append(((np.array(h) - x) ** 2).sum())
        w.append(w[-1] - 0.1 * ((np.array(h) - x) * x).mean())
    return {"w": np.array(w[:I]), "best": np.minimum.accumulate(losses), "h": h[-1]}


@case(
    CASES,
    """dim i < N
dim j < N
input w[i]: f32
c[i, j] = 0. when j <= i
c[i, j] = min(c[i, i:j] + c[i+1:j+1, j], axis = 0) + w[j] when j > i
m[i, j] = c[i, j] when i <= j
m[i, j] = m[j, i] + 1.
output c[0, N-1] as best, m""",
    {"N": 1},
    {"N": 2},
    {"N": 5},
)
def over_intervals(N: int, w: Array) -> Array:
    c = np.zeros((N, N))
    for size in range(1, N):
        for i in range(N - size):
            j = i + size
            c[i, j] = min(c[i, k] + c[k + 1, j] for k in range(i, j)) + w[j]
    return {"best": c[0, N - 1], "m": np.triu(c) + np.tril(c.T + 1, -1)}


@case(
    CASES,
    """dim t < T
dim n < N = (T + 3) // 4
input x[t]: f32
b[n] = sum(x[4*n:min(4*n+4, T)])
r[n] = r[n-1] + b[n] when n >= 1
r[n] = b[n]
y[t] = b[t // 4] + x
q[t] = y[4*(t//4)] + y[min(4*(t//4)+3, T-1)]
f[t] = f[t//2] + 1 when t >= 1
f[0] = 0
output r, q, f""",
    {"T": 1},
    {"T": 4},
    {"T": 9},
)
def quasi_affine(T: int, x: Array) -> Array:
    b = np.array([x[n : n + 4].sum() for n in range(0, T, 4)])
    y = np.array([b[t // 4] + x[t] for t in range(T)])
    f = [0]
    for t in range(1, T):
        f.append(f[t // 2] + 1)
    return {
        "r": b.cumsum(),
        "q": np.array([y[t // 4 * 4] + y[min(t // 4 * 4 + 3, T - 1)] for t in range(T)]),
        "f": np.array(f),
    }


@case(
    CASES,
    """dim t < T
dim s < S
input x[t]: f32
a = 0 * t + 5
b[t] = zeros([t + 1 - t]) + x
c = (s - s) * t
d = f if T > t else f + 1
f = x * 2.
g = sum((x * 2.)[t = 0:0])
h[t] = sum((x + 1.)[t = t:t]) + 1.
output a, b, c, d, g, h""",
    {"T": 3, "S": 2},
    {"T": 1, "S": 1},
)
def what_cancels(T: int, S: int, x: Array) -> Array:
    return {
        "a": np.full(T, 5),
        "b": x[:, None],
        "c": np.zeros((T, S), int),
        "d": 2 * x,
        "g": 0.0,
        "h": np.ones(T),
    }


@case(
    CASES,
    """dim t < T
input x[t]: f32
input v: f32[T]
y[t] = x when t < 3
y[t] = tanh(y[t-3:t] @ v[t-2:t+1]) + y[t-2:t:2][0] when t % 2 == 0
y[t] = sum(y[t-2:t] * y[t-3])
near[t] = x[min(t // 2 * 2 + 1, T - 1)]
g = grad(sum(near[0:T] ** 2), x)
output y, g""",
    *SIZES,
)
def windows_longer_than_short_runs(T: int, x: Array, v: Array) -> Array:
    y = x.astype(np.float64)
    for t in range(3, T):
        even = np.tanh(y[t - 3 : t] @ v[t - 2 : t + 1]) + y[t - 2]
        y[t] = even if t % 2 == 0 else (y[t - 2] + y[t - 1]) * y[t - 3]
    g = np.zeros(T)
    for t in range(T):
        place = min(t // 2 * 2 + 1, T - 1)
        g[place] += 2.0 * x[place]
    return {"y": y, "g": g}
