"""Functions: state over a dimension parameter, trees, loops, hygiene, arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.whole.language.harness import Case, case

CASES: list[Case] = []
Array = Any


@case(
    CASES,
    """dim t < T
dim k < K
input x[t]: f32
def acc(v, dim i) {
  s[0] = v[i = 0]
  s[i] = s[i-1] + v when i >= 1
  return s
}
def twice(f, v, dim i) = f(f(v, i), i)
c[k] = f32(k)
a = twice(acc, x, t)
z = acc(x + c, t)
w = acc(z, i = k)
output a, z, w""",
    {"T": 1, "K": 1},
    {"T": 4, "K": 3},
)
def dimension_parameters(T: int, K: int, x: Array) -> Array:
    z = (x[:, None] + np.arange(K)).cumsum(0)
    return {"a": x.cumsum().cumsum(), "z": z, "w": z.cumsum(1)}


@case(
    CASES,
    """dim i < I
input g[i]: f32
def adam(p, g, dim i, lr = 1e-2, b1 = 0.9, b2 = 0.999) {
  m[i] = b1 * m[i-1] + (1. - b1) * g when i >= 1
  m[i] = (1. - b1) * g
  v[i] = b2 * v[i-1] + (1. - b2) * g * g when i >= 1
  v[i] = (1. - b2) * g * g
  mean = m / (1. - b1 ** (i + 1))
  return p - lr * mean / (sqrt(v / (1. - b2 ** (i + 1))) + 1e-8)
}
w[0] = {a: 1., b: [0.5, zeros([2])]}
w[i+1] = adam(w, d, i, lr = 1e-1 * 0.9 ** i)
d = {a: w.a * g, b: [g + w[i].b[0], w[i].b[1] + g]}
a = w.a
b = w[i].b[1]
last = w[I-1].b[0]
output a, b, last""",
    {"I": 1},
    {"I": 4},
)
def optimizer(I: int, g: Array) -> Array:  # noqa: E741
    w: list[Array] = [1.0, 0.5, np.zeros(2)]
    m, v, seen = [0.0] * 3, [0.0] * 3, []
    for i in range(I):
        seen.append(list(w))
        for k, d in enumerate([w[0] * g[i], g[i] + w[1], w[2] + g[i]]):
            m[k], v[k] = 0.9 * m[k] + 0.1 * d, 0.999 * v[k] + 0.001 * d * d
            size = np.sqrt(v[k] / (1 - 0.999 ** (i + 1))) + 1e-8
            w[k] = w[k] - 0.1 * 0.9**i * m[k] / (1 - 0.9 ** (i + 1)) / size
    return {
        "a": np.array([s[0] for s in seen]),
        "b": np.array([s[2] for s in seen]),
        "last": seen[-1][1],
    }


@case(
    CASES,
    """const SIZES = [2, 3]
const MODE = "fast"
dim t < T
input x[t]: f32
s = 5.
def f(s) { t2 = s * 2.; return t2 + s }
def g(x) { s = x + 1.; u = f(s); return u + s }
def h(a, b = 2., act = abs, k = SIZES[1]) = act(a) * 100. + b * k
def two(a) { return {s: a, r: [a * 2., a * 3.]}, a }
def tri(n) { v = 0; for k in range(n) { for j in range(k) { v = v + j } }; return v }
def apply(x, fs) { v = x; for k in range(len(fs)) { v = fs[k](v) + k }; return v }
def relu(x) = x * 10.
y = g(x) + s
y1 = h(x)
y2 = h(b = 1., a = x, act = relu)
y3 = h(x, 5., k = 1) if MODE == "fast" else x
rec, z = two(x)
w = (rec * 2. + rec)[t = T-1].r[1] + tri(4)
v = apply(x, [tanh, relu, sin])
output y, y1, y2, y3, z, w, v""",
    {"T": 1},
    {"T": 4},
)
def names_and_arguments(x: Array) -> Array:
    return {
        "y": 4 * (x + 1) + 5,
        "y1": 100 * abs(x) + 6,
        "y2": 1000 * x + 3,
        "y3": 100 * abs(x) + 5,
        "z": x,
        "w": 9 * x[-1] + 4,
        "v": np.sin(10 * np.tanh(x) + 1) + 2,
    }


@case(
    CASES,
    """dim b < B
dim t < T
input x[b, t]: f32
def ema(v, dim t, a = 0.5) {
  s[t] = (1. - a) * s[t-1] + a * v when t >= 1
  s[0] = v[t = 0]
  return s
}
def back(v, dim d, n) {
  r[n-1] = v[d = n-1]
  r[d-1] = r[d] * 0.5 + v[d = d-1]
  return r
}
def window(v, dim d, n) = mean(v[d = max(0, d - n + 1):d+1])
y = ema(x, t) - window(x, t, 2)
z = back(ema(mean(x[b = 0:B]), t, a = 0.25), t, T)
w = window(window(x, b, 2), t, 3)
output y, z, w""",
    {"B": 1, "T": 1},
    {"B": 3, "T": 4},
)
def carried_along(B: int, T: int, x: Array) -> Array:
    def ema(v: Array, a: float) -> Array:
        s = v.copy()
        for t in range(1, T):
            s[..., t] = (1 - a) * s[..., t - 1] + a * v[..., t]
        return s

    def window(v: Array, n: int) -> Array:
        return np.stack([v[max(0, k - n + 1) : k + 1].mean(0) for k in range(len(v))])

    z = ema(x.mean(0), 0.25)
    for t in range(T - 2, -1, -1):
        z[t] += z[t + 1] * 0.5
    return {
        "y": ema(x, 0.5) - window(x.T, 2).T,
        "z": z,
        "w": window(window(x, 2).T, 3).T,
    }
