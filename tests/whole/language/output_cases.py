"""Programs about declarations, inputs, params and outputs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tests.whole.language.harness import Case, case

CASES: list[Case] = []
Array = Any
SMALL = ({"T": 1}, {"T": 2}, {"T": 5})


@case(
    CASES,
    """dim b < B = 2
dim t < T
assume T >= 3
x[b, t] = b * 10 + t
y[t] = t * 2. when t % 2 == 0
output x[0:B, 1:T:2] as s, x[b, 0] as c, x[0, t] as r, x[B-1, T-1] as last
output x[b = 1] as k, x[t = 1:3] as sl; output x[0:1, 0:0] as e, x[t = T-1, b = 0] as z, x
output y[0:T:2] as even, y[T // 2 * 2 - 2] as one, x[1, 2] as w, x[::1, 2:] as q
""",
    {"T": 3},
    {"T": 6},
)
def output_forms(T: int) -> Array:
    x = np.arange(2)[:, None] * 10 + np.arange(T)
    y = np.arange(T) * 2.0
    return {
        "s": x[:, 1::2], "c": x[:, 0], "r": x[0], "last": x[1, -1], "k": x[1], "sl": x[:, 1:3],
        "e": x[:1, :0], "z": x[0, -1], "x": x, "even": y[::2], "one": y[T // 2 * 2 - 2],
        "w": x[1, 2], "q": x[:, 2:],
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
x[t] = zeros([t, 2])
y[t] = {a: t * 1., b: [t, 2 * t]}
z = {p: 1, q: ones([2])}
output x[T-1] as two, y, y[0].a as ya, y[0:T:2].b as yb, y.b[1] as yc, z.q, z as zz, T as n, t
""",
    *SMALL,
)
def output_trees(T: int) -> Array:
    t = np.arange(T)
    return {
        "two": np.zeros((T - 1, 2)), "y.a": t * 1.0, "y.b.0": t, "y.b.1": 2 * t, "ya": 0.0,
        "yb.0": t[::2], "yb.1": 2 * t[::2], "yc": 2 * t, "z.q": np.ones(2), "zz.p": 1,
        "zz.q": np.ones(2), "n": T, "t": t,
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
dim n < N = (T + 3) // 4
dim m < M = N + T
dim l < L = 30
const D = 64
const name = "abc"
const flag = true
const list = [1, [2.5, 3]]
input x: f32[N, M]
y[n] = n * 1 + M
z[l] = l * 1
w = ones([D, len(list)]) * list[0]
v = 1.0 if flag else 2.0
u = 1 if name == "abc" else 2
s = sum(x)
output y, z, w, v, u, s, m
""",
    {"T": 1},
    {"T": 4},
    {"T": 5},
    defines={"D": "3", "L": "2", "name": "foo", "flag": "false", "list": "[4, 5, 6]"},
    given={"x": lambda T: np.ones(((T + 3) // 4, (T + 3) // 4 + T), np.float32)},
)
def bounds_and_constants(T: int, x: Array) -> Array:
    n = (T + 3) // 4
    return {
        "y": np.arange(n) + n + T, "z": np.arange(2), "w": np.full((3, 3), 4.0), "v": 2.0, "u": 2,
        "s": x.sum(), "m": np.arange(n + T),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
dim p < P
assume 2 * P <= T
assume T % 2 == 0 and P != 3
input x[t]: f32
y[p] = x[2 * p] + x[T - 1 - p] + x[p + P]
z = x[T // 2] + x[2*P - 1]
output y, z
""",
    {"T": 2, "P": 1},
    {"T": 8, "P": 4},
    {"T": 8, "P": 2},
)
def assumptions(T: int, P: int, x: Array) -> Array:
    p = np.arange(P)
    return {"y": x[2 * p] + x[T - 1 - p] + x[p + P], "z": x[T // 2] + x[2 * P - 1]}


@case(
    CASES,
    """dim l < L
dim k < K = 2
param w[l]: f32[2] from "layers.{l}.w"
param b[l, k]: f32 from "b.{k}.of.{l}"
param c[l]: f32[2]
param d[l, k]: {p: f32[2], q: f32}
param e[l]: {p: f32[2], q: {r: f32}} from "deep.{l}"
param g: f32
param u[k]: f32[L] from "same"
y = w + b[k = 0] + c
z = d.p * d.q
output y, z, b, e, g, u
""",
    {"L": 1},
    {"L": 3},
    given={
        **{f"layers.{n}.w": (lambda n=n: np.full(2, n, np.float32)) for n in range(3)},
        **{
            f"b.{k}.of.{n}": (lambda n=n, k=k: np.float32(10 * n + k))
            for n in range(3)
            for k in range(2)
        },
        "c": lambda L: np.arange(2 * L, dtype=np.float32).reshape(L, 2),
        "d.p": lambda L: np.arange(4 * L, dtype=np.float32).reshape(L, 2, 2),
        "d.q": lambda L: np.arange(2 * L, dtype=np.float32).reshape(L, 2),
        **{f"deep.{n}.p": (lambda n=n: np.full(2, n + 5, np.float32)) for n in range(3)},
        **{f"deep.{n}.q.r": (lambda n=n: np.float32(n)) for n in range(3)},
        "g": lambda: np.float32(7).astype(ml_dtypes.bfloat16),
        "same": lambda L: np.arange(2 * L).reshape(2, L).astype(np.float16),
        "extra": lambda: np.zeros(3),
    },
)
def param_templates(L: int, c: Array, d_p: Array, d_q: Array) -> Array:
    n = np.arange(L)[:, None]
    return {
        "y": n + 10.0 * n + c, "z": d_p * d_q[..., None],
        "b": 10.0 * n + np.arange(2), "e.p": np.repeat(n + 5.0, 2, 1), "e.q.r": n[:, 0] * 1.0,
        "g": 7.0, "u": np.arange(2.0 * L).reshape(2, L),
    }  # fmt: skip


@case(
    CASES,
    """dim l < L = 2
param a: f32[3] = ones([3]) * 2.
param b = {w: zeros([2]), v: [1., ones([2])]}
param c[l]: f32 = l * 1.5
param d[l] = full([2], l)
param e: f32 = 3
param f: f32[2, 2] = 0.5
param g: f32[2] = a[1:] + 1.
param h[l] = g * l
output a, b, c, d, e, f, g, h
""",
    given={
        "b.w": lambda: np.ones(2, np.float32),
        "b.v.0": lambda: np.float32(4),
        "b.v.1": lambda: np.full(2, 5, np.float32),
        "a": lambda: np.full(3, 9, np.float32),
    },
)
def param_defaults() -> Array:
    return {
        "a": np.full(3, 9.0), "b.w": np.ones(2), "b.v.0": 4.0, "b.v.1": np.full(2, 5.0),
        "c": np.array([0, 1.5]), "d": np.array([[0, 0], [1, 1]]), "e": 3.0,
        "f": np.full((2, 2), 0.5), "g": np.full(2, 10.0), "h": np.array([[0.0, 0], [10, 10]]),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input a[t]: bool
input b[t]: i32[2]
input c[t]: i64
input d[t]: u32
input e[t]: bf16[2]
input f[t]: f16
input g[t]: f64
a2 = not a
b2 = b + 1
c2 = c * 2
d2 = d + 1
e2 = e * 2.
f2 = f * 2.
g2 = g * 2. + 1e-12
output a2, b2, c2, d2, e2, f2, g2, a, b, c, d, e, f, g
""",
    {"T": 1},
    {"T": 3},
    dtypes={
        "a2": "bool",
        "b2": "int32",
        "c2": "int64",
        "d2": "uint32",
        "e2": "bfloat16",
        "f2": "float16",
        "g2": "float64",
        "a": "bool",
        "b": "int32",
        "c": "int64",
        "d": "uint32",
        "e": "bfloat16",
        "f": "float16",
        "g": "float64",
    },
)
def every_dtype(a: Array, b: Array, c: Array, d: Array, e: Array, f: Array, g: Array) -> Array:
    return {
        "a2": ~a, "b2": b + 1, "c2": c * 2, "d2": d + 1, "e2": e * 2, "f2": f * 2,
        "g2": g * 2 + 1e-12, "a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "g": g,
    }  # fmt: skip
