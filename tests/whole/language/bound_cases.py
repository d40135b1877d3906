"""Programs about bounds and targets: derived and fixed bounds, products of them, dropped points."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.whole.language.harness import Case, case

CASES: list[Case] = []
Array = Any


@case(
    CASES,
    """dim t < T
dim c < C = (T + 2) // 3
dim k < K = 3
input x[t]: f32
part[c, k] = x[3*c + k] when 3*c + k < T
part[c, k] = 0.
s[c] = sum(part[c, 0:K])
p[0] = 0.
p[c+1] = p[c] + s[c]
y[t] = p[t // 3] + sum(part[t // 3, 0:t % 3 + 1])
z = reshape(part[0:C, 0:K], [3 * C])[:T]
w = reshape(part[0:C, 0:K], [C * K]) @ ones([3 * C])
output y, z, w
""",
    {"T": 1},
    {"T": 3},
    {"T": 7},
)
def parts_of_three(T: int, x: Array) -> Array:
    return {"y": np.cumsum(x), "z": x, "w": x.sum()}


@case(
    CASES,
    """dim t < T
dim n < N = T - 1
dim m < M = 2 * T + 1
dim q < Q = max(1, T - 3)
dim r < R = min(T, 4)
dim b < B
assume T >= 2
input x[t]: f32
input w: f32[T, B]
d[n] = x[n+1] - x[n]
e[m] = x[min(m // 2, T-1)]
f[q] = sum(x[q:min(q+3, T)])
g[r] = x[r]
h = d[0:N] @ d[0:N] + sum(e[0:M]) + f[Q-1] + g[R-1]
k[t] = d[t-1] if t >= 1 else 0.
l[n, r] = d[n] * g[r] when n >= r
l[n, r] = 0.
o = reshape(concat([w, ones([1, B])], 0), [(N + 2) * B])
p = reshape(o, [-1, B])
output d, e, f, h, k, l, p
""",
    {"T": 2, "B": 1},
    {"T": 7, "B": 3},
)
def bounds_from_bounds(T: int, B: int, x: Array, w: Array) -> Array:
    d = np.diff(x)
    e = x[np.minimum(np.arange(2 * T + 1) // 2, T - 1)]
    f = np.array([x[q : q + 3].sum() for q in range(max(1, T - 3))])
    g = x[:4]
    return {
        "d": d, "e": e, "f": f, "h": d @ d + e.sum() + f[-1] + g[-1], "k": np.diff(x, prepend=x[0]),
        "l": np.where(np.arange(T - 1)[:, None] >= np.arange(len(g)), np.outer(d, g), 0),
        "p": np.concatenate([w, np.ones((1, B))]),
    }  # fmt: skip


@case(
    CASES,
    """dim t < T
input x[t]: f32
a[t+3] = x[t] when t % 2 == 0
a[t] = -1.
b[t+1], c[t-2] = x, x * 2
b[0] = 0.
c[t] = 9.
d[t+100] = x
d[t] = 3.
e[5], f[t] = 7., x
e[t] = 1.
g[t-1] = x[t] + x[t-1] when t >= 1
g[T-1] = 0.
h[t+1] = x[t+1]
h[0] = 3.
k[t = t+1], l[t = t+2] = x[t+1], 2.
k[0] = 0.
l[t] = 0.
output a, b, c, d, e, f, g, h, k, l
""",
    {"T": 1},
    {"T": 2},
    {"T": 7},
)
def dropped_points(T: int, x: Array) -> Array:
    t = np.arange(T)
    after = np.append(x[1:], 0)
    return {
        "a": np.where((t >= 3) & (t % 2 == 1), np.roll(x, 3), -1), "b": np.append(0, x[:-1]),
        "c": np.append(2 * x[2:], [9, 9])[:T], "d": 3.0 + 0 * x, "e": np.where(t == 5, 7.0, 1.0),
        "f": x, "g": np.where(t < T - 1, x + after, 0), "h": np.append(3, x[1:]),
        "k": np.append(0, x[1:]), "l": np.where(t >= 2, 2.0, 0.0),
    }  # fmt: skip


@case(
    CASES,
    """dim b < B
dim t < T
input x[b, t]: f32
y[b, t] = x when t % 2 == 0 and b > 0 or t == 3
y[b, t] = -x when not (t > 1) or T - t > 2
y[b, t+1] = 5. when b == t
y[b, t] = 0.
z[t = t-1, b = b+1], w[b, T-1] = x, x[t = 0]
z[b, t] = 0.
w[b, t] = 5
output y, z, w
""",
    {"B": 1, "T": 1},
    {"B": 3, "T": 2},
    {"B": 4, "T": 6},
)
def guards_of_two_dimensions(B: int, T: int, x: Array) -> Array:
    b, t = np.arange(B)[:, None], np.arange(T)
    moved = np.zeros((B, T))
    moved[1:, :-1] = x[:-1, 1:]
    y = np.where((b == t - 1) & (t >= 1), 5.0, 0.0)
    y = np.where((t <= 1) | (T - t > 2), -x, y)
    y = np.where((t % 2 == 0) & (b > 0) | (t == 3), x, y)
    return {"y": y, "z": moved, "w": np.where(t == T - 1, x[:, :1], 5.0)}


@case(
    CASES,
    """dim a < A
dim b < B
dim c < C
input x[a, b, c]: f32[2]
input j[b, c]: i32
y[b] = sum(x[0:A, b, 0:C], axis = [0, 1])
z[a, c] = x[a, 0:B, c]
w[c] = x[0:A:2, 0:B, c]
v = x[c = 0:C, a = 0:A]
u[a] = sum(x[a:A, 0:B, 0:min(a+1, C)])
r[b, c] = x[A-1, b, c] + sum(x[0:A, max(0, b-1):b+1, c], axis = [0, 1])
s = x[a = j in 0:A, b = b, c = 0]
output y, z, w, v, u, r, s
""",
    {"A": 1, "B": 1, "C": 1},
    {"A": 3, "B": 2, "C": 4},
    given={"j": lambda A, B, C: (np.arange(B * C).reshape(B, C) % A).astype(np.int32)},
)
def slices_of_three_dimensions(A: int, B: int, C: int, x: Array, j: Array) -> Array:
    near = [x[:, max(0, b - 1) : b + 1].sum((0, 1)) for b in range(B)]
    return {
        "y": x.sum((0, 2)), "z": x.transpose(0, 2, 1, 3), "w": x[::2].transpose(2, 0, 1, 3),
        "v": x.transpose(1, 0, 2, 3), "u": np.array([x[a:, :, : a + 1].sum() for a in range(A)]),
        "r": x[-1] + np.stack(near), "s": x[j, np.arange(B)[:, None], 0],
    }  # fmt: skip


@case(
    CASES,
    """dim l < L = 3
dim k < K = 2
dim u < U = L * K
dim t < T
const D = 2 * L
input x[t]: f32
input a[l, k]: f32
input m: f32[D, L]
b[t] = sum(x[t // L * L:t+1]) if t % L < 2 else 0.
c[u] = a[u // K, u % K]
d[l, k] = c[l * K + k]
e = x[0:T:L]
f = reshape(m, [D * L])
def powers(x) {
  h = x
  for n in range(L) {
    h = h * x
  }
  return h
}
g = powers(m[:, L-1])
h, n = top_k(m[0], K)
i = sum([p * 2.0 for p in split(m, L, 0)][L-1], axis = K - 1)
output b, c, d, e, f, g, h, i
""",
    {"T": 1},
    {"T": 8},
    defines={"L": "4"},
)
def bounds_with_a_value_are_constants(T: int, x: Array, a: Array, m: Array) -> Array:
    first = [x[t // 4 * 4 : t + 1].sum() if t % 4 < 2 else 0.0 for t in range(T)]
    return {
        "b": np.array(first), "c": a.reshape(-1), "d": a, "e": x[::4], "f": m.reshape(-1),
        "g": m[:, 3] ** 5, "h": -np.sort(-m[0])[:2], "i": 2 * m[6:].sum(1),
    }  # fmt: skip


@case(
    CASES,
    """
    const batch = 2
    dim e < E
    dim n < N
    dim i < I = E * (N // batch)
    dim k < K = 2 * I - 1
    input x[n]: f32[3]
    j = i % (N // batch) * batch
    w[0] = zeros([3])
    w[i+1] = w[i] - 0.1 * grad(cost, w)
    cost[i] = sum((w[i] - x[n = j[i] in 0:N]) ** 2 + (w[i] - x[n = j[i] + 1 in 0:N]) ** 2)
    epoch[e] = sum(cost[0:I]) * e
    halved[k] = cost[k // 2] / 2
    output cost, w[I-1] as last, epoch, halved
    """,
    {"E": 1, "N": 2},
    {"E": 3, "N": 5},
)
def steps_of_epochs(E: int, N: int, x: Array) -> Any:
    w, costs = np.zeros(3), []
    for i in range(E * (N // 2)):
        j = i % (N // 2) * 2
        last = w
        costs.append(np.sum((w - x[j]) ** 2 + (w - x[j + 1]) ** 2))
        w = w - 0.1 * (4 * w - 2 * x[j] - 2 * x[j + 1])
    halved = np.repeat(costs, 2)[:-1] / 2
    return {
        "cost": np.array(costs), "last": last, "epoch": np.sum(costs) * np.arange(E),
        "halved": halved,
    }  # fmt: skip


@case(
    CASES,
    """
    dim e < E
    dim n < N
    dim b < B
    dim q < Q = N // B
    dim i < I = E * (N // B)
    dim r < R = N % B + 1
    dim c < C = (N + B - 1) // B
    dim m < M = min(N // (2 * B + 1), 2) + 1
    input x[n]: f32[3]
    input y[b]: f32
    row = x[n = q * size(y[0:B], 0) + b in 0:N]
    step = i % Q
    w[0] = zeros([3])
    w[i+1] = w[i] - 0.1 * grad(cost, w)
    cost[i] = sum((w[i] - mean(row[q = step[i] in 0:Q, b = 0:B], axis = 0)) ** 2)
    first = cumsum(x[q], axis = 0)
    late[r] = x[n = N - R + r in 0:N]
    chunk[c] = c * C + M
    count[e, m] = m + e
    output cost, first, late, chunk, count
    """,
    {"E": 1, "N": 2, "B": 2},
    {"E": 3, "N": 5, "B": 2},
    {"E": 2, "N": 7, "B": 3},
    {"E": 2, "N": 7, "B": 1},
)
def batches_of_a_size_given_at_run_time(E: int, N: int, B: int, x: Array, y: Array) -> Any:
    Q, w, costs = N // B, np.zeros(3), []
    for i in range(E * Q):
        gap = w - x[i % Q * B : (i % Q + 1) * B].mean(0)
        costs.append(np.sum(gap**2))
        w = w - 0.2 * gap
    R, C, M = N % B + 1, -(-N // B), min(N // (2 * B + 1), 2) + 1
    return {
        "cost": np.array(costs), "first": np.cumsum(x[:Q], axis=1), "late": x[N - R :],
        "chunk": np.arange(C) * C + M, "count": np.arange(E)[:, None] + np.arange(M),
    }  # fmt: skip
