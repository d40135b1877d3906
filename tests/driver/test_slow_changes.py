"""`explain --slow` of whole programs with one cliff: what it says, and that its change helps."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tempoc.driver.slow.slow import slow_report
from tests.driver.test_slow import compilation, explained

DIAGONAL = """\
dim t < T
const N = 128
input a[t]: f32[N, 32]
param W: f32[32, 32]
z[t] = a * expand_dims(1.0 + s, 1)
m[t] = (z @ W) @ z.T
d[t] = sum(m * eye(N), axis = 1)
s[0] = zeros(N)
s[t+1] = 0.9 * s[t] + 0.01 * tanh(d)
output s
"""
INVERSE = """\
dim t < T
input x[t]: f32[64]
param A: f32[64, 64]
h[0] = ones(64)
S[t] = A @ A.T * 0.1 + eye(64) * (1.0 + sum(h ** 2))
h[t+1] = tanh(inverse(S) @ (h[t] + x))
output h
"""
SQUARES = """\
dim n < N
input x[n]: f32[64]
X = x[0:N]
dist[n] = sum((X - x) ** 2, axis = 1)
y = sum(exp(-0.5 * dist), axis = 0)
output y
"""
FILTER = """\
dim t < T
input seen[t]: bool
input z[t]: f32[24]
param F: f32[24, 24]
m[0] = zeros(24)
P[0] = eye(24)
mp = F @ m
Pp = F @ P @ F.T + eye(24)
K = solve(Pp + eye(24), Pp).T
m[t+1] = where(seen, mp + K @ (z - mp), mp)
P[t+1] = where(seen, Pp - K @ Pp, 0.5 * Pp)
output m
"""
LOG = """\
dim t < T
extern host log(a: f32) -> (b: i32) from "envs:log"
input x[t]: f32[32]
h[0] = zeros(32)
h[t] = tanh(h[t-1] + x)
e = sum(h ** 2)
ok = log(e)
output e
"""
SHUFFLES = """\
dim e < E
dim k < K
input X: f32[4096, 16]
param w0: f32[16]
w[0, 0] = w0
order[e, k] = random.permutation(4096)
batch[e, k] = take(X, reshape(order, [32, 128])[min(k, 31)], 0)
g[e, k] = batch.T @ tanh(batch @ w)
w[e, k+1] = w - 0.1 * g
w[e+1, 0] = w[e, K-1] - 0.1 * g[e, K-1]
output w[E-1, K-1] as last
"""
NEWTON = """\
dim b < B
dim k < K until stop
input a[b]: f32
x[b, 0] = a
x[b, k] = 0.5 * (x[b, k-1] + a / x[b, k-1])
stop[b, k] = abs(x * x - a) < 1e-3
root[b] = x[b, K-1]
output root
"""
MIXTURE = """\
import nn
dim i < I
dim n < N
input x[n]: f32[4]
input start: f32[8, 4]
mu[0] = start
pi[0] = full([8], 0.125)
score = log(pi) - 0.5 * sum((x - mu) ** 2, axis = 1)
r = nn.softmax(score)
weight = sum(r[n = 0:N], axis = 0) + 1e-6
mu[i+1] = r[n = 0:N].T @ x[0:N] / expand_dims(weight, 1)
pi[i+1] = weight / N
likelihood = mean(logsumexp(score)[n = 0:N])
output likelihood, mu[I-1] as means
"""
SWEEPS = """\
dim t < T
input f: f32[96, 96]
input w[t]: f32
def shifted(z) {
  g = pad(z, [[1, 1], [1, 1]])
  return g[0:96, 1:97] + g[2:98, 1:97] + g[1:97, 0:96] + g[1:97, 2:98]
}
def sweep(u, f) {
  for k in range(12) { u = u + 0.8 * (0.25 * (shifted(u) + f) - u) }
  return u
}
u[0] = zeros([96, 96])
u[t+1] = sweep(u, w * f)
norm = mean(u ** 2)
output norm, u[T-1] as u
"""
BEST = """\
dim t < T
input x[t]: f32[64]
param W: f32[64, 64]
h[0] = zeros(64)
best[t] = max(h[0:t+1], axis = 0)
h[t+1] = tanh(W @ h[t] + 0.1 * best + x)
output h
"""
PARITY = """\
dim t < T
input x[t]: f32[64]
param A: f32[64, 64]
param B: f32[64, 64]
y[t] = tanh(A @ x) when t % 2 == 0
y[t] = tanh(B @ x)
s[0] = zeros(64)
s[t] = 0.9 * s[t-1] + y
output s
"""
PREFIXES = """\
dim t < T
dim s < S = T
input x[t]: f32
input y[s]: f32
inner[t, s] = sum(x[0:t+1]) * y[s] - max(y[0:s+1])
outer = sum(inner[s = 0:t+1])
output outer
"""
LAYERS = """\
dim l < L
dim t < T
input x[t]: f32[64]
param W[l]: f32[64, 64]
param U[l]: f32[64, 64]
h[0, t] = x
h[l+1, 0] = tanh(W @ h[l, 0])
h[l+1, t] = tanh(W @ h[l, t] + U @ h[L-1, t-1])
y = mean(h[L-1, 0:T], axis = 1)
output y
"""
MEMORY = """\
import nn
dim l < L
dim t < T
input x[t]: f32[64]
param q[l]: f32[64, 64]
param k[l]: f32[64, 64]
h[0, t] = x
mem[t] = zeros(64) when t == 0
mem[t] = h[L-1, t-1]
att[l, t] = nn.attention(q @ h, (k @ h)[t = 0:t+1], (k @ h)[t = 0:t+1])
h[l+1, t] = h + att + 0.1 * mem
loss = mean((h[L-1, t] ** 2)[t = 0:T])
output loss
"""
SCALES = """\
dim b < B
dim t < T
input x[b, t]: f32[32]
param W: f32[32, 32]
h[b, 0] = zeros(32)
h[b, t] = tanh(W @ h[b, t-1] + x / (1.0 + scale))
scale[b] = 1.0 when b == 0
scale[b] = 0.9 * scale[b-1] + 0.1 * mean(abs(h[b-1, T-1]))
y = sum(h)
output y
"""
RESET = """\
# Choices between sums and products are fused with them.
dim t < T
input x[t]: f32[512]
input new[t]: bool
h[0] = x[0]
h[t] = where(new, x, 0.9 * h[t-1] + x)
output h
"""
COUNTS = """\
dim t < T
input k[t]: i32
input x[t]: f32
n[0] = zeros([1000000])
n[t+1] = n + one_hot(k, 1000000) * x
m = sum(n)
print n[t][0]
output n[T-1] as last
"""
SPARSE = """\
dim t < T
input x[t]: f32[128]
param W: f32[128, 128]
h[0] = x[0]
a = tanh(W @ (W @ h))
h[t] = 0.5 * h[t-1] + (a[t-1] if t % 16 == 0 else x)
output h[T-1] as last
"""

REPORTS: Mapping[str, tuple[str, Mapping[str, int], tuple[str, ...]]] = {
    "the diagonal of a product": (
        DIAGONAL,
        {"T": 300},
        ("line 6 multiplies two matrices, of whose product only the diagonal", "sum(a * b.T"),
    ),
    "the diagonal of a product, by einsum": (
        DIAGONAL.replace("sum(m * eye(N), axis = 1)", 'einsum("ii->i", m)'),
        {"T": 300},
        ("line 6 multiplies two matrices, of whose product only the diagonal",),
    ),
    "an inverse for one product": (
        INVERSE,
        {"T": 300},
        ("line 6 inverts a matrix for one product", "`solve(a, b)` for `inverse(a) @ b`"),
    ),
    "squares of differences": (
        SQUARES,
        {"N": 512},
        ("line 4 adds up the squares of 16.78 M differences", "- 2 * (a @ b)`"),
    ),
    "two choices by one condition": (
        FILTER,
        {"T": 1000},
        ("computes at each `t` what `where` then leaves out", "one `cond` of records"),
    ),
    "a call whose result no step needs": (
        LOG,
        {"T": 500},
        ("needs nothing that it gave before", "declared `over t` it is called once"),
    ),
    "an order drawn at each step": (
        SHUFFLES,
        {"E": 10, "K": 32},
        ("line 6 puts 4096 places", "one order, drawn in an equation without `k`, serves all `k`"),
    ),
    "a test at each step": (
        NEWTON,
        {"B": 64, "K": 200},
        ("`x[b, k]` needs `x[b, k-1]` (line 5)", "a bound in place of `until` spares the test"),
    ),
    "a recurrence whose parts passes have moved": (
        MIXTURE,
        {"I": 30, "N": 1000},
        ("`score[i, n]` needs `mu[i]` (line 8)", "`mu[i+1]` needs `r[n = 0:N]` (line 11)"),
    ),
    "a recurrence through a function": (
        SWEEPS,
        {"T": 200},
        ("`u[t+1]` needs `u[t]` (line 13)",),
    ),
    "a maximum of all before in a recurrence": (
        BEST,
        {"T": 2000},
        ("`h[t+1]` needs `h[t]` (line 6)",),
    ),
    "a side for every other step": (
        PARITY,
        {"T": 4000},
        ("help: choose with `where` at all points, which computes both sides",),
    ),
    "the last layer of the step before": (
        LAYERS,
        {"T": 2000, "L": 3},
        ("`h[L-1, t-1]` (line 8) is the last `l` of another `t`", "a read of the same `l`, or of"),
    ),
    "the last layer of the step before, by a name": (
        MEMORY,
        {"T": 128, "L": 4},
        ("`h[L-1, t-1]` (line 9) is the last `l`", "where a read of what needs none of `h` will"),
    ),
    "the last step of the example before": (
        SCALES,
        {"B": 64, "T": 300},
        ("`h[b-1, T-1]` (line 8) is the last `t` of another `b`", "for all `b` at once"),
    ),
    "steps that nothing reads": (
        SPARSE,
        {"T": 2000},
        ("`a` (line 5) is computed at each `t`, of which others read one in 16", "t % 16 == 15"),
    ),
    "what is read takes the time": (
        PREFIXES,
        {"T": 600},
        ("memory limits it: of `inner` 1.37 MiB are read", "360000 in all"),
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str) -> None:
    text, bounds, wanted = REPORTS[name]
    report = explained(text, bounds)
    assert [w for w in wanted if w not in report] == [], report


@pytest.mark.parametrize(
    ("text", "one", "other", "sentence"),
    [
        (DIAGONAL, "sum(m * eye(N), axis = 1)", "sum(m, axis = 1)", "only the diagonal"),
        (DIAGONAL, "output s", "last = m[T-1]\noutput s, last", "only the diagonal"),
        (DIAGONAL, "N = 128", "N = 8", "only the diagonal"),
        (INVERSE, "inverse(S) @ (h[t] + x)", "Si @ h[t] + Si.T @ x)\nSi = (inverse(S)", "for one"),
        (INVERSE, "inverse(S) @ (h[t] + x)", "sum(inverse(S), axis = 0)", "for one"),
        (DIAGONAL, "output s", "output s, m", "only the diagonal"),
        (SQUARES, "(X - x) ** 2", "abs(X - x)", "squares"),
        (SQUARES, "f32[64]", "f32[2]", "squares"),
        (SQUARES, "X = x[0:N]", "X = ones([8, 64])", "squares"),
        (
            LOG,
            "log(e)",
            "log(e + ok_before)\nok_before[0] = 0.0\nok_before[t+1] = f32(ok)",
            "over t",
        ),
        (LOG, 'from "envs:log"', 'over t from "envs:log"', "over t"),
        (BEST, "W @ h[t]", "W @ h[t]", "`best[t]` needs `best[t-1]`"),
        (PARITY, "t % 2 == 0", "t % 2 == 0", "one equation for each side"),
        (NEWTON, " until stop", "", "in place of `until`"),
        (SQUARES, "axis = 1", "axis = 1", "`assume"),
        (PREFIXES, "outer = ", "outer = ", "is written as a whole, 2.34 KiB"),
        (
            SPARSE,
            "a = tanh(W @ (W @ h))",
            "a[t] = tanh(W @ (W @ h)) when t % 16 == 15",
            "others read",
        ),
        (SPARSE, "output h[T-1]", "output a, h[T-1]", "others read"),
        (SPARSE, "else x)", "else x[0] + a[t-1])", "others read"),
        (SPARSE, "output h[T-1]", "output a[T-1] as end, h[T-1]", "others read"),
        (
            SPARSE,
            "output h",
            "y[t] = h[0] when t < 5000\ny[t] = a[t-5000] when t >= 5000\noutput y, h",
            "others read",
        ),
        (
            SPARSE,
            "a = tanh(W @ (W @ h))",
            "a[t] = tanh(W @ (W @ h)) when t % 2 == 1",
            "at each `t`, of which",
        ),
        (RESET, "sums", "sums", "`cond` in place of `where`"),
        (COUNTS, "1000000", "1000000", "would have to be kept"),
        (COUNTS, "print n", "print n", "such as a sum or an element"),
    ],
)
def test_what_is_not_so_is_not_said(text: str, one: str, other: str, sentence: str) -> None:
    assert one in text
    changed = text.replace(one, other)
    bounds = {PREFIXES: {"T": 600}, SPARSE: {"T": 10000}}.get(text)
    assert sentence not in explained(changed, bounds)


@pytest.mark.parametrize(
    ("name", "one", "other", "factor"),
    [
        ("the diagonal of a product", "sum(m * eye(N), axis = 1)", "sum((z @ W) * z, axis = 1)", 3),
        ("an inverse for one product", "inverse(S) @ (h[t] + x)", "solve(S, h[t] + x)", 2),
        (
            "squares of differences",
            "sum((X - x) ** 2, axis = 1)",
            "sum(X ** 2, axis = 1) + sum(x ** 2) - 2.0 * (X @ x)",
            3,
        ),
        ("a call whose result no step needs", ' from "envs:log"', ' over t from "envs:log"', 10),
        ("the last layer of the step before", "h[L-1, t-1]", "h[l+1, t-1]", 2),
        ("the last layer of the step before, by a name", "= h[L-1, t-1]", "= x[t-1]", 4),
        ("an order drawn at each step", "order[e, k]", "order[e]", 10),
        (
            "steps that nothing reads",
            "a = tanh(W @ (W @ h))",
            "a[t] = tanh(W @ (W @ h)) when t % 16 == 15",
            5,
        ),
    ],
)
def test_what_helps_does(name: str, one: str, other: str, factor: float) -> None:
    text, bounds, _ = REPORTS[name]
    assert one in text
    before, after = (
        slow_report(compilation(t), bounds).seconds for t in (text, text.replace(one, other))
    )
    assert factor * after < before


def test_random_numbers_that_nothing_reads_cost_nothing() -> None:
    text = (
        "dim t < T\nparam A: f32[64, 64]\nh[0] = zeros(64)\nz[t] = random.normal([256, 64])\n"
        "h[t+1] = h[t] - 0.01 * (A @ h[t]) + 0.1 * (z)[0]\ne = sum(h ** 2)\noutput e\n"
    )
    bounds = {"T": 1001}
    one, all_ = text.replace("256", "1"), text.replace("(z)[0]", "sum(z, axis = 0)")
    few, many, whole = (
        slow_report(compilation(program), bounds).seconds for program in (one, text, all_)
    )
    assert many < 1.1 * few and whole > 50 * few
    assert "line 4 draws 64000 random numbers" in explained(text, bounds)


BASIS = """\
dim m < M
input z[m]: f32[64]
rest[m] = z if m == 0 else z - q[0:m].T @ (q[0:m] @ z)
q[m] = rest / sqrt(1.0 + rest @ rest)
output q
"""


def test_a_state_that_does_not_pay_for_so_few_steps() -> None:
    report = explained(BASIS, {"M": 8})
    assert "`rest` (line 3) is computed from a state to which each `m` adds" in report
    assert "`assume M <= 8`" in report
    assert "state" not in explained(BASIS, {"M": 400})
    assert "state" not in explained(BASIS.replace("input", "assume M <= 8\ninput"), {"M": 8})
