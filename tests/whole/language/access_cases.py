"""Programs about domains and access: points, slices, brackets, fields, keyword entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.whole.language.harness import Case, case

CASES: list[Case] = []
Array = Any
SMALL = ({"T": 1}, {"T": 2}, {"T": 5})
TWO = ({"B": 1, "T": 1}, {"B": 2, "T": 1}, {"B": 1, "T": 3}, {"B": 3, "T": 4})


@case(CASES, "dim t < T\ninput x[t]: f32\ny[t] = x * 2.\noutput y", *SMALL)
def identity(x: Array) -> Array:
    return x * 2


@case(CASES, "dim t < T\ninput x[t]: f32\ny = x[0] + x[T-1]\noutput y", *SMALL)
def ends(x: Array) -> Array:
    return x[0] + x[-1]


@case(
    CASES,
    """dim t < T
input x[t]: f32[2]
y = x[0:T]
z = x[t:T]
w = sum(z, axis = 0)
output y, w
""",
    *SMALL,
)
def slice_drops_or_keeps(T: int, x: Array) -> Array:
    return {"y": x, "w": np.stack([x[t:].sum(0) for t in range(T)])}


@case(
    CASES,
    """dim t < T
input x[t]: f32
y[t] = sum(x[max(0, t-2):t+1])
z[t] = sum(x[t-1:t]) when t >= 1
z[0] = -1.0
output y, z""",
    *SMALL,
)
def windows(T: int, x: Array) -> Array:
    y = [x[max(0, t - 2) : t + 1].sum() for t in range(T)]
    return {"y": np.array(y), "z": np.array([-1.0, *x[:-1]])}


@case(
    CASES,
    """dim t < T
input x[t]: f32
y[t] = sum(x[0:t])
z[t] = mean(x[0:t+1:2])
w[t] = sum(x[t:T:3])
n[t] = size(x[t:T:3], 0) + 0
u[t] = size(x[0:t:2], 0)
output y, z, w, n, u""",
    *SMALL,
)
def steps_and_empty(T: int, x: Array) -> Array:
    r = range(T)
    return {
        "y": np.array([x[:t].sum() for t in r]),
        "z": np.array([x[: t + 1 : 2].mean() for t in r]),
        "w": np.array([x[t::3].sum() for t in r]),
        "n": np.array([len(x[t::3]) for t in r]),
        "u": np.array([len(x[:t:2]) for t in r]),
    }


@case(
    CASES,
    """dim b < B
dim t < T
input x[b, t]: f32[2]
a = x[0:B, 0:T]
c = x[b = 0]
d = x[t = T-1]
e = sum(x[b, 0:t+1], axis = 0)
f = x[b = 0:B, t = t]
g = x[0, 0]
h = x[t = t:T]
k = sum(h, axis = 0)
output a, c, d, e, f, g, k""",
    *TWO,
)
def two_dimensions(B: int, T: int, x: Array) -> Array:
    e = np.zeros((B, T, 2))
    k = np.zeros((B, T, 2))
    for b in range(B):
        for t in range(T):
            e[b, t] = x[b, : t + 1].sum(0)
            k[b, t] = x[b, t:].sum(0)
    return {
        "a": x, "c": x[0], "d": x[:, -1], "e": e, "f": x.transpose(1, 0, 2), "g": x[0, 0], "k": k
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input x[t]: f32[4, 3]
a = x[t][1]
b = x[t][1, 2]
c = x[t][-1]
d = x[t][1:3, ::2]
e = x[t][:, -2]
f = x[t][::-1]
g = x[t][-3:-1]
h = x[t][2:100]
k = x[t][3:1]
output a, b, c, d, e, f, g, h, k""",
    *SMALL,
)
def spatial(x: Array) -> Array:
    return {
        "a": x[:, 1], "b": x[:, 1, 2], "c": x[:, -1], "d": x[:, 1:3, ::2], "e": x[:, :, -2],
        "f": x[:, ::-1], "g": x[:, -3:-1], "h": x[:, 2:100], "k": x[:, 3:1],
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input M: f32[T, 3]
y = M[t]
z = M[t][1]
w = M[T-1-t, 2]
u = M[0:t+1]
v = sum(u, axis = 0)
s = M[t // 2]
output y, z, w, v, s""",
    *SMALL,
)
def rows_of_a_plain_tensor(T: int, M: Array) -> Array:
    return {
        "y": M, "z": M[:, 1], "w": M[::-1, 2],
        "v": np.cumsum(M, 0), "s": M[np.arange(T) // 2],
    }  # fmt: skip


@case(
    CASES,
    """dim i < I
dim t < T
input x[i]: f32[T, 2]
y = x[i][t]
z = x[i][t, 1]
w = x[I-1][t]
output y, z, w""",
    {"I": 1, "T": 1},
    {"I": 2, "T": 3},
)
def rows_of_a_varying_tensor(x: Array) -> Array:
    return {"y": x, "z": x[..., 1], "w": x[-1]}


@case(
    CASES,
    """dim t < T
input x[t]: f32[5]
input j[t]: i32
input k[t]: i32[3]
y = x[t][j]
z = x[t][k]
w = x[0][j]
output y, z, w""",
    *SMALL,
    given={
        "j": lambda T: (np.arange(T) % 5).astype(np.int32),
        "k": lambda T: (np.arange(3 * T) % 5).astype(np.int32).reshape(T, 3),
    },
)
def gathers(T: int, x: Array, j: Array, k: Array) -> Array:
    r = np.arange(T)
    return {"y": x[r, j], "z": np.stack([x[t][k[t]] for t in r]), "w": x[0][j]}


@case(
    CASES,
    """dim t < T
input x[t]: f32
input y[t]: f32
a = (x * y)[t = 0:T]
b = (x + y)[t = T-1]
c = sum((x * y)[t = t:T])
d = (x[t = 0] * y)[t = T - 1 - t]
e = exp(x)[t = 0]
f = (x * t)[t = max(0, t - 1)]
output a, b, c, d, e, f""",
    *SMALL,
)
def keyword_access_on_expressions(T: int, x: Array, y: Array) -> Array:
    p = x * y
    r = np.arange(T)
    return {
        "a": p, "b": x[-1] + y[-1], "c": np.array([p[t:].sum() for t in r]),
        "d": x[0] * y[::-1], "e": np.exp(x[0]), "f": (x * r)[np.maximum(0, r - 1)],
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input x[t]: f32
y[t] = x[(t // 2) * 2]
z[t] = x[t % 3] when T >= 3
z[t] = 0.0
w[t] = x[min(2*t, T-1)]
v[t] = x[max(0, T - 1 - 2*t)]
output y, z, w, v""",
    *SMALL,
)
def quasi_affine(T: int, x: Array) -> Array:
    r = np.arange(T)
    return {
        "y": x[r // 2 * 2], "z": x[r % 3] if T >= 3 else np.zeros(T),
        "w": x[np.minimum(2 * r, T - 1)], "v": x[np.maximum(0, T - 1 - 2 * r)],
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
dim s < T
input x[t]: f32
y[t, s] = x[t] * x[s]
z[t] = sum(y[t, 0:t+1])
w = sum(y[0:T, 0:T])
v = y[t = s, s = t]
u = y[s = t]
output y, z, w, v, u""",
    *SMALL,
)
def two_dims_share_a_bound(T: int, x: Array) -> Array:
    o = np.outer(x, x)
    z = np.array([o[t, : t + 1].sum() for t in range(T)])
    return {"y": o, "z": z, "w": o.sum(), "v": o.T, "u": np.diag(o)}


@case(
    CASES,
    """dim t < T
input x[t]: {a: f32[2], b: f32}
y = x[t].a * x.b
z = x[T-1].a
w = sum(x[0:t+1].b)
output y, z, w, x[0].b as first""",
    *SMALL,
    given={
        "x.a": lambda T: np.arange(2.0 * T, dtype=np.float32).reshape(T, 2),
        "x.b": lambda T: np.arange(T, dtype=np.float32) + 1,
    },
)
def record_inputs(x_a: Array, x_b: Array) -> Array:
    return {"y": x_a * x_b[:, None], "z": x_a[-1], "w": np.cumsum(x_b), "first": x_b[0]}


@case(
    CASES,
    """dim t < T
input x[t]: f32[3]
p = x[t][0]
r = {u: x, v: [x * 2., x + 1.]}
y = r.u
z = r.v[1]
w = r.v[-1][2]
q = (r.v[0])[t = 0]
s = r.v[0][t = 0]
n = len(r.v) + 0
output p, y, z, w, q, s, n""",
    *SMALL,
)
def lists_and_records(x: Array) -> Array:
    return {
        "p": x[:, 0], "y": x, "z": x + 1, "w": x[:, 2] + 1, "q": x[0] * 2, "s": x[0] * 2, "n": 2
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
const K = 1
input x[t]: f32
y = x[t % K]
z = min(t, t - t)
u = t % K == 0
v = [5.0, 6.0][0] if t <= t else x[0]
w = concat([x[0:T], x[0:T]], 0)[t - t]
n = sum(x[t - t:T])
p[t] = x[-(t % K)]
output y, z, u, v, w, n, p""",
    *SMALL,
)
def dimensions_that_are_named_but_do_not_matter(T: int, x: Array) -> Array:
    first = np.repeat(x[:1], T)
    n = np.repeat(x.sum(), T)
    z, u, v = np.zeros(T, np.int32), np.ones(T, bool), np.full(T, 5.0, np.float32)
    return {"y": first, "z": z, "u": u, "v": v, "w": first, "n": n, "p": first}
