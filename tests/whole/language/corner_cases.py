"""Programs about corners: brackets after brackets, sizes as indices, ragged records, imports."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.whole.language.harness import Case, case

CASES: list[Case] = []
Array = Any
SMALL = ({"T": 1}, {"T": 4})


@case(
    CASES,
    """dim t < T
input x[t]: f32
n[t] = x[size(x[0:t], 0)]
m = x[len(x[0:T]) - 1]
k[t] = sum(x[0:size(ones([t + 1, 2]), 0)])
s = [x * q for q in range(1, 3)]
p = sum(stack(s, 0))
o[t] = zeros([T, t + 1])[t, t] + arange(t + 1)[t] + arange(T)[t] + f32(t) + sqrt(T)
r = 1 if T > 2 else 2
u[t] = x if t > 1 else -x
v = [q * q for q in range(4)][2] + len(s)
y[t] = sum(x[0:t:1][::2])
z[t] = x[0:t+1][::-1][0] + sum(x[t:T][1:])
w = sum(x[0:T:2][1:])
output n, m, k, p, o, r, u, v, y, z, w
""",
    *SMALL,
)
def brackets_after_brackets(T: int, x: Array) -> Array:
    r = range(T)
    t = np.arange(T)
    return {
        "n": x, "m": x[-1], "k": np.cumsum(x), "p": 3 * x, "o": 3 * t + np.sqrt(T),
        "r": 1 if T > 2 else 2, "u": np.where(t > 1, x, -x), "v": 6,
        "y": np.array([x[:i][::2].sum() for i in r]),
        "z": np.array([x[i] + x[i + 1 :].sum() for i in r]), "w": x[::2][1:].sum(),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input x[t]: f32
r[t] = x[(t * 7 + 3) % 5] when T >= 5
r[t] = 0.
s[t] = x[t - t % 2] + x[(t + 1) // 2] + x[T // 2 - T // 2 + t]
w[t] = x[min(t, T - 1 - t)] - x[max(t, T - 1 - t)]
a[t] = sum(x[t // 2 * 2:min(t // 2 * 2 + 2, T)])
b[t] = sum(x[t % 2:T:2]) when T > 1
b[t] = 1.
c[t] = x[-t + T - 1] * x[-(t - T + 1)] + x[t * 1 * 2 - t]
e[t] = sum(x[t:t]) + sum(x[t + 1:t]) + sum(x[T:T]) + sum(x[3:2])
output r, s, w, a, b, c, e
""",
    {"T": 1},
    {"T": 4},
    {"T": 7},
)
def points_and_slices(T: int, x: Array) -> Array:
    t = np.arange(T)
    return {
        "r": x[(t * 7 + 3) % 5] if T >= 5 else np.zeros(T),
        "s": x[t - t % 2] + x[(t + 1) // 2] + x,
        "w": x[np.minimum(t, T - 1 - t)] - x[np.maximum(t, T - 1 - t)],
        "a": np.array([x[i // 2 * 2 : i // 2 * 2 + 2].sum() for i in t]),
        "b": np.array([x[i % 2 :: 2].sum() for i in t]) if T > 1 else np.ones(1),
        "c": x[::-1] ** 2 + x, "e": np.zeros(T),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input x[t]: f32
y = x * x[0]
z[t] = y[t] + y
w[t] = y + t
v = z - w[t = T - 1 - t]
u = v[t = 0:T] @ v[t = 0:T]
a, b = x, y
c, d = [x, y]
e[t], f[t+1] = x, y
f[0] = 9
g[t-1], h[T-1] = x[t] + 1 , x[T-1]
g[T-1] = x[0]
h[t] = h[t+1] * 0.5
k = zeros_like(x) + ones_like(y)
output z, w, v, u, a, b, c, d, e, f, g, h, k
""",
    *SMALL,
)
def several_targets(T: int, x: Array) -> Array:
    y = x * x[0]
    t = np.arange(T)
    v = 2 * y - (y + t)[::-1]
    return {
        "z": 2 * y, "w": y + t, "v": v, "u": v @ v, "a": x, "b": y, "c": x, "d": y, "e": x,
        "f": np.array([9.0, *y[:-1]]), "g": np.array([*(x[1:] + 1), x[0]]),
        "h": x[-1] * 0.5 ** t[::-1], "k": np.ones(T),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input q[t]: f32[2, 3]
a = q.T
d = q[0:T].T
e = (q + 1).T[0]
f = q.T[t = T-1]
g = q[t].T[2]
x[t] = {a: ones([t + 1]) * q[t][0, 0], b: t}
y[t] = sum(x.a) + x.b
z[t] = x[T - 1 - t].a[0]
w[t] = sum(x[t].a[t:])
v[t] = sum(x[max(0, t-1)].a)
u = x[T-1]
output a, d, e, f, g, y, z, w, v, u
""",
    *SMALL,
)
def transposes_and_ragged_records(T: int, q: Array) -> Array:
    t = np.arange(T)
    s = q[:, 0, 0]
    p = np.maximum(t - 1, 0)
    return {
        "a": q.transpose(0, 2, 1), "d": q.T, "e": q[:, :, 0] + 1, "f": q[-1].T, "g": q[:, :, 2],
        "y": (t + 1) * s + t, "z": s[::-1], "w": s, "v": (p + 1) * s[p],
        "u.a": np.full(T, s[-1]), "u.b": T - 1,
    }  # fmt: skip


@case(
    CASES,
    """import nn as layers, rl
dim b < B
dim t < T
def first(p) = p[0]
def at(p, dim d) = p[d = 0]
def total(p, dim d, n = T) = sum(p[d = 0:n], axis = 0)
def halves(x, dim i) {
  m[i] = x when i == 0
  m[i] = m[i-1] * 0.5 + x
  return m, m[i = 0]
}
input x[b, t]: f32[3]
a = first(x)
c = at(x, t) - at(x, b)[t = T-1]
e = total(x, b, n = B)
f = first(x[0:B, 0:T]) + first(total(x, t))
g, h = halves(x, t)
k = layers.softmax(x)
l = halves(x, b)[0]
output a, c, e, f, g, h, k, l
""",
    {"B": 1, "T": 1},
    {"B": 2, "T": 3},
)
def functions_and_dimensions(B: int, T: int, x: Array) -> Array:
    def halves(v: Array, axis: int) -> Array:
        v = np.moveaxis(v, axis, 0)
        m = [v[0]]
        for row in v[1:]:
            m.append(m[-1] * 0.5 + row)
        return np.moveaxis(np.stack(m), 0, axis)

    e = np.exp(x - x.max(-1, keepdims=True))
    tot = x.sum(1)
    return {
        "a": x[..., 0], "c": x[:, 0] - x[0, -1], "e": x.sum(0),
        "f": x[0][None] + tot[:, 0][:, None, None], "g": halves(x, 1), "h": x[:, 0],
        "k": e / e.sum(-1, keepdims=True), "l": halves(x, 0),
    }  # fmt: skip


@case(
    CASES,
    """dim b < B
dim t < T
input x[b, t]: f32[2]
flat = reshape(x[0:B, 0:T], [-1])
most = max(flat)
place = argmin(flat)
slope = grad(most, x)
m[b, t] = max(reshape(x[0:b+1, 0:t+1], [-1]))
output most, place, slope, m
""",
    {"B": 1, "T": 1},
    {"B": 2, "T": 3},
)
def extremes_over_joined_axes(x: Array) -> Array:
    points = [[x[: b + 1, : t + 1].max() for t in range(x.shape[1])] for b in range(len(x))]
    return {
        "most": x.max(), "place": x.argmin(), "slope": (x == x.max()) * 1.0, "m": np.array(points)
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input x[t]: i64
input u[t]: u32
input p[t]: bool
a = (3000000000 if t > 0 else 2) * x
b = where(p, 3000000000, 2) * x
c = cond(p, 3000000000, 2) + x
d = x - (-3000000000 if t > 1 else where(p, 5000000000, 2) if t > 0 else 7)
e = u // (3000000000 if t > 0 else 2)
f = i64(3000000000 if t > 0 else 2) + i64(where(p, 3000000001, 2))
g = f64(3000000001 if t > 0 else 2)
output a, b, c, d, e, f, g
""",
    {"T": 1},
    {"T": 3},
    {"T": 8},
)
def numbers_of_conditions_are_as_wide_as_what_they_meet(
    T: int, x: Array, u: Array, p: Array
) -> Array:
    r = np.arange(T)
    wide = np.where(r > 0, 3000000000, 2)
    chosen = np.where(p, 3000000000, 2)
    last = np.where(r > 1, -3000000000, np.where(r > 0, np.where(p, 5000000000, 2), 7))
    return {
        "a": wide * x,
        "b": chosen * x,
        "c": chosen + x,
        "d": x - last,
        "e": u // wide.astype("u4"),
        "f": wide + np.where(p, 3000000001, 2),
        "g": np.where(r > 0, 3000000001.0, 2.0),
    }


@case(
    CASES,
    """dim t < T
input x[t]: f32[3]
input W: f32[3, 3]
a = x if t > 2 else 1 if t > 0 else -0.5
b = x[t-1] if t >= 1 and t < 3 else 2.0 if T > 3 else 4 if t == 0 else 5
h[t] = tanh(W @ h[t-1]) if t > 1 else 1.0 if t == 1 else 0.5
p = {u: x, v: sum(x)} if t == 1 else 0.0 if t <= 0 else 7
q = x > 0.0 if t > 1 else true if t > 0 else false
k = f64(t) if t > 1 else 0.1 if t > 0 else 0.3
n = i64(t) if t > 1 else 3000000000 if t > 0 else 2
output a, b, h, p, q, k, n
""",
    {"T": 1},
    {"T": 5},
    {"T": 2},
)
def numbers_of_several_conditions_fit_a_shape(T: int, x: Array, W: Array) -> Array:
    one, r = np.ones(3), range(T)
    h: list[Array] = []
    for t in r:
        h.append(np.tanh(W @ h[t - 1]) if t > 1 else one if t == 1 else one / 2)
    other = [2.0 if T > 3 else 4 if t == 0 else 5 for t in r]
    return {
        "a": np.array([x[t] if t > 2 else one if t > 0 else -one / 2 for t in r]),
        "b": np.array([x[t - 1] if 1 <= t < 3 else one * other[t] for t in r]),
        "h": np.array(h),
        "p.u": np.array([x[t] if t == 1 else one * (0 if t <= 0 else 7) for t in r]),
        "p.v": np.array([x[t].sum() if t == 1 else 0.0 if t <= 0 else 7.0 for t in r]),
        "q": np.array([x[t] > 0 if t > 1 else one * t > 0 for t in r]),
        "k": np.array([t if t > 1 else 0.1 if t > 0 else 0.3 for t in r]),
        "n": np.array([t if t > 1 else 3000000000 if t > 0 else 2 for t in r]),
    }
