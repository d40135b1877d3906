"""Programs about dtypes, promotion, weak types, records, annotations, index expressions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.whole.language.harness import Case, case

CASES: list[Case] = []
Array = Any
SMALL = ({"T": 1}, {"T": 2}, {"T": 5})
GIVEN = """dim t < T
input x[t]: i32
input b[t]: bool
input f[t]: f32
input h[t]: bf16
input d[t]: f64
input j[t]: i64
input u[t]: u32
"""
PROMOTED = {
    "x + 1": "int32", "x + 1.5": "float32", "x / 2": "float32", "x // 2": "int32",
    "b + 1": "int32", "b * f": "float32", "h + f": "float32", "h + 1.0": "bfloat16",
    "d + f": "float64", "j + x": "int64", "x + f": "float32", "t + f": "float32",
    "1 / 2": "float32",
    "2 ** t": "int32", "t / 2": "float32", "(t > 1) + 1": "int32", "h + x": "bfloat16",
    "j + f": "float32", "d * 2": "float64", "j * 2": "int64", "f // 2": "float32",
    "x % 3": "int32", "sqrt(4)": "float32", "x == 1.5": "bool", "where(b, 1, 2.0)": "float32",
    "i32(f) + j": "int64", "u + 1": "uint32", "u * f": "float32", "d + t": "float64",
    "abs(x)": "int32", "x * true": "int32", "maximum(x, 1.5)": "float32", "1 + 2": "int32",
    "1.5 if t > 0 else 1": "float32", "x if t > 0 else 1.5": "float32", "minimum(b, x)": "int32",
    "b if t > 0 else x": "int32", "1e-3 * 0.99 ** t": "float32", "f64(x) + 1.0": "float64",
    "h * t": "bfloat16", "b and t > 1": "bool", "minimum(1, 2.5)": "float32",
}  # fmt: skip


def promoted() -> Case:
    """All of `PROMOTED` in one program; the values by NumPy, which agrees about them."""
    lines = [f"y{k} = {e}" for k, e in enumerate(PROMOTED)]
    names = [f"y{k}" for k in range(len(PROMOTED))]
    text = GIVEN + "\n".join(lines) + f"\noutput {', '.join(names)}\n"

    def oracle(
        T: int, x: Array, b: Array, f: Array, h: Array, d: Array, j: Array, u: Array
    ) -> Array:
        found = {}
        for t in range(T):
            scope = {
                "x": int(x[t]), "b": bool(b[t]), "f": float(f[t]), "h": float(h[t]), "t": t,
                "d": float(d[t]), "j": int(j[t]), "u": int(u[t]), "true": True, "i32": int,
                "where": lambda c, a, b: a if c else b, "maximum": max, "minimum": min,
                "sqrt": np.sqrt, "f64": float,
            }  # fmt: skip
            for name, (e, dtype) in zip(names, PROMOTED.items(), strict=True):
                value = eval(e, {}, scope)
                found.setdefault(name, []).append(np.dtype(KINDS.get(dtype, dtype)).type(value))
        timeless = {f"y{k}" for k, e in enumerate(PROMOTED) if not VARYING.search(e)}
        return {k: v[0] if k in timeless else np.array(v) for k, v in found.items()}

    dtypes = dict(zip(names, PROMOTED.values(), strict=True))
    return Case(
        name="promotion", text=text, bounds=({"T": 1}, {"T": 4}), oracle=oracle, dtypes=dtypes
    )


VARYING = re.compile(r"\b[xbfhdjut]\b")
KINDS = {"bfloat16": "float64", "float32": "float64", "int32": "int64", "uint32": "int64"}
CASES.append(promoted())


@case(
    CASES,
    """dim t < T
x[0] = 1
x[t] = x[t-1] * 2. when t >= 1
y[0] = 1
y[t] = y[t-1] * 2 when t >= 1
z[0] = 0.
z[t] = z[t-1] + ones([3]) when t >= 1
w[t] = 0 when t % 2 == 0
w[t] = 0.5
v[t] = true when t == 0
v[t] = not v[t-1]
u[t] = [t, 1.] when t == 0
u[t] = [u[t-1][0] * 2, u[t-1][1] + t]
s[t] = {a: 0, b: ones([2])} when t == 0
s[t] = {b: s[t-1].b * 2, a: s[t-1].a + t / 2}
output x, y, z, w, v, u, s
""",
    *SMALL,
    dtypes={"x": "float32", "y": "int32", "v": "bool", "w": "float32", "s.a": "float32"},
)
def cycles_of_types(T: int) -> Array:
    t = np.arange(T)
    a = np.cumsum(t / 2)
    return {
        "x": 2.0**t, "y": 2**t, "z": np.repeat(t[:, None] * 1.0, 3, 1),
        "w": np.where(t % 2 == 0, 0, 0.5), "v": t % 2 == 0, "u.0": t * 0,
        "u.1": 1.0 + np.cumsum(t), "s.a": a, "s.b": np.repeat(2.0 ** t[:, None], 2, 1),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input M: bool[3, 4]
input x[t]: f32[4]
input k: i64[4]
input h: bf16[4]
a = M @ x
b = einsum("ij,ij->i", M, M)
c = M @ M.T
d = M @ k
e = M @ h
f = conv(M, ones([2, 4, 1]) > 0.5)
g = grad(sum(a ** 2), x)
i[t] = (x[0:t+1] > 0)[:, 0] @ x[0:t+1]
j[0] = 1.0
j[t] = sum(M @ full([4], j[t-1])) when t > 0
output a, b, c, d, e, f, g, i, j
""",
    *SMALL,
    given={"k": lambda: np.array([5, -1, 2**40, 3])},
    dtypes={"a": "float32", "b": "int32", "c": "int32", "d": "int64", "e": "bfloat16"},
)
def bools_are_factors(T: int, M: Array, x: Array, k: Array, h: Array) -> Array:
    n = M.astype(np.int64)
    j = [1.0]
    for _ in range(1, T):
        j.append(n.sum() * j[-1])
    return {
        "a": x @ n.T, "b": n.sum(1), "c": n @ n.T, "d": n @ k, "e": n @ h,
        "f": np.array([[n[r : r + 2].sum()] for r in range(2)]), "g": 2 * x @ n.T @ n,
        "i": np.array([(x[: t + 1, 0] > 0) @ x[: t + 1] for t in range(T)]), "j": np.array(j),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input q: f32[T]
input M: f32[2, T]
y = (q as f32[m]) * m + sum(ones([m]))
u[t] = sum(q[0:t] as f32[m]) + m
v[t] = sum(q[0:t+1] as f32[t+1])
w: f32[T] = q
n: f32[2, T] = M + q as f32[2, T]
k = (M as f32[a, b]) + f32(a - 2)
p = reshape(M, [-1]) as f32[c]
o = size(M, 0) + size(M, 1) * size(M) + ndim(M) + len([1, 2, 3]) + len(M)
output y, u, v, w, n, k, p, o
""",
    *SMALL,
)
def annotations(T: int, q: Array, M: Array) -> Array:
    return {
        "y": q * T + T, "u": np.array([q[:t].sum() + t for t in range(T)]), "v": np.cumsum(q),
        "w": q, "n": M + q, "k": M, "p": M.reshape(-1), "o": 2 + T * 2 * T + 2 + 3 + 2,
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input x[t]: f32[2]
r = {w: x, b: {c: x[t][0], d: [x, 3.]}}
p = r * 2 + 1
q = p - r
z = zeros_like(r)
e = exp(r).b.d[0]
s = r[t = 0].b.c
k = {b: 1., a: 2} * {a: 10., b: 100}
m = maximum(r, 0.)
n = -r.b
w = 1 / {a: 2., b: [4.]}
c = r == r
g = f64(r).w
output q, z.b, e, s, k, m.b.d, n, w, c.w, g
""",
    *SMALL,
)
def trees(T: int, x: Array) -> Array:
    q, o = x + 1, 0 * x[:, 0]
    return {
        "q.w": q, "q.b.c": q[:, 0], "q.b.d.0": q, "q.b.d.1": o + 4, "z.b.c": o,
        "z.b.d.0": 0 * x, "z.b.d.1": o, "e": np.exp(x), "s": x[0, 0], "k.b": 100.0, "k.a": 20.0,
        "m.b.d.0": np.maximum(x, 0), "m.b.d.1": o + 3, "n.c": -x[:, 0], "n.d.0": -x, "n.d.1": o - 3,
        "w.a": 0.5, "w.b.0": 0.25, "c.w": x == x, "g": x,
    }  # fmt: skip


@case(
    CASES,
    """dim i < N
dim t < T
const K = 2
a = t * 2 - i + T // 2 - K
b = max(0, t - i, min(t, 1)) + 0.5
c = (t + 1) % 3 == 0 or t > i and not t == 1
d[t] = min(t, T - 1 - t) when t >= T // 2
d[t] = -t
e = t ** 2 + i ** 0
f = 1.0 if t < i else (2.0 if t == i else t * 1.)
g = -(t // 2) + (-t) // 2 + (-t) % 3
h = (t > i) + (t if t > 1 else i)
k = i * t
m = (t - i) // 2 * 2 + (3 * t) // 2
n = T * N + max(T, N) - min(T, N, 2)
output a, b, c, d, e, f, g, h, k, m, n
""",
    {"N": 1, "T": 1},
    {"N": 2, "T": 5},
    dtypes={"a": "int32", "c": "bool", "n": "int32"},
)
def index_expressions_as_values(N: int, T: int) -> Array:
    i, t = np.arange(N)[:, None], np.arange(T)
    both = i * 0 + t * 0
    return {
        "a": t * 2 - i + T // 2 - 2, "b": np.maximum(np.maximum(0, t - i), np.minimum(t, 1)) + 0.5,
        "c": ((t + 1) % 3 == 0) | ((t > i) & (t != 1)),
        "d": np.where(t >= T // 2, np.minimum(t, T - 1 - t), -t), "e": t**2 + 1 + both,
        "f": np.where(t < i, 1.0, np.where(t == i, 2.0, t)), "g": -(t // 2) + -t // 2 + -t % 3,
        "h": (t > i) + np.where(t > 1, t, i), "k": i * t, "m": (t - i) // 2 * 2 + 3 * t // 2,
        "n": T * N + max(T, N) - min(T, N, 2),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input x[t]: f32[3]
a[t] = x[0:t+1] @ x[t]
b[t] = exp(a[t] - max(a[t]))
c[t] = b[t] / sum(b[t])
d[t] = c[t] @ x[0:t+1]
e[t] = concat([x[0:t], x[t:T]], 0)
f[t] = sum(stack([x[0:t], x[0:t] * 2.], 1), axis = 0)
g[t] = reshape(x[0:t+1], [(t + 1) * 3])[t * 3:]
h[t] = cumsum(x[t:T], axis = 0)[-1]
k[t] = max(x[0:t], axis = 0) when t > 0
k[t] = x[0]
m[t] = argmax(a[t])
n[t] = mean(zeros([t + 1, T - t]) + x[t][0])
o[t] = sum(x[0:t:2].T @ x[0:t:2])
p[t] = sum(broadcast_to(x[t], [t, 3])) + size(a[t], 0)
q[t] = a[t][t] + a[t][0] + a[t][-1] + sum(a[t][1:]) + sum(a[t][:t])
output d, e, f, g, h, k, m, n, o, p, q
""",
    *SMALL,
)
def ragged(T: int, x: Array) -> Array:
    r = range(T)
    a = [x[: t + 1] @ x[t] for t in r]
    b = [np.exp(v - v.max()) for v in a]
    return {
        "d": np.stack([v / v.sum() @ x[: len(v)] for v in b]), "e": np.stack([x] * T),
        "f": np.stack([[x[:t].sum(0), 2 * x[:t].sum(0)] for t in r]), "g": x,
        "h": np.stack([x[t:].sum(0) for t in r]),
        "k": np.stack([x[:t].max(0) if t else x[0] for t in r]),
        "m": np.array([v.argmax() for v in a]), "n": x[:, 0],
        "o": np.array([(x[:t:2].T @ x[:t:2]).sum() for t in r]),
        "p": np.array([t * x[t].sum() + t + 1 for t in r]),
        "q": np.array([v[-1] * 2 + v[0] + v[1:].sum() + v[:-1].sum() for v in a]),
    }  # fmt: skip
