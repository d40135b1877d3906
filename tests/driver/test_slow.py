"""`explain --slow`: for each class of cliffs, the loop, the line, the reason and the change."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from tempoc.diagnostics.diagnostic import Diagnostic, DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation, ScheduledGraph
from tempoc.driver.options import Options
from tempoc.driver.slow.slow import SlowPart, slow_report, slow_text
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.sdg.graph.graph import Graph

RNN = """\
dim t < T
param w: f32[8, 8]
param s: f32[8]
h[0] = s
h[t] = sort(tanh(w @ h[t-1]))
"""

FACTOR = """\
dim i < N
dim j < M = N
input a[i, j]: f32
L[i, j] = 0.0 when j > i
L[i, j] = sqrt(a[i, i] - sum(L[i, 0:i] ** 2)) when i == j
L[i, j] = (a[i, j] - L[i, 0:j] @ L[j, 0:j]) / L[j, j]
"""
SOLVE = """\
dim i < N
dim j < M = N
input L[i, j]: f32
input y[i]: f32
z[i] = (y[i] - L[i, 0:i] @ z[0:i]) / L[i, i]
"""

CLIFFS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "each step needs the one before": (
        RNN + "output h[T-1] as last\n",
        ("the loop over `t` on the device", "`h[t]` needs `h[t-1]` (line 5)", "nothing to change"),
    ),
    "two equations need each other": (
        "dim t < T\ninput x[t]: f32[8]\ng[0] = x[0]\nh[t] = sort(g[t-1]) when t >= 1\n"
        "g[t] = tanh(h[t]) + x[t]\noutput g[T-1] as last\n",
        ("`h[t]` needs `g[t-1]` (line 4)", "`g[t]` needs `h[t]` (line 5)"),
    ),
    "the gradient of a scan over rows": (
        "dim i < I\ndim b < B\ndim t < T\ninput x[b, t]: f32[4]\nparam w0: f32[9, 4]\n"
        "param v: f32[9]\nw[0] = w0\n"
        "u[i, b, t] = w @ x + 0.5 * u[b = b-1] when b >= 1\n"
        "u[i, b, t] = w @ x\n"
        "a[i, b, 0] = u[t = 0]\n"
        "a[i, b, t] = u + logsumexp(expand_dims(a[t = t-1], 1) + v, axis = 0)\n"
        "point = max(u)\n"
        "cost = mean((logsumexp(a[t = T-1]) - sum(point[t = 0:T]))[b = 0:B])\n"
        "w[i+1] = w - grad(cost, w)\noutput cost\n",
        (
            "`grad(cost, u)[i, b, t]` needs `grad(cost, u)[i, b+1, t]` (line 9)",
            "why: `a`, `grad(cost, cost)` and `cost` (lines 11 and 13) need nothing of other `b`",
            "`whole = a[i, 0:B, t]`",
            "`a` (line 11) is a scan: 101 steps of",
        ),
    ),
    "a scan within a kernel": (
        "dim t < T\ninput x[t]: f32\nh[0] = 0.0\nh[t] = sin(h[t-1]) + x[t]\noutput h\n",
        ("`h` (line 4) is a scan: ", "steps of", "nothing to change: each step needs the one"),
    ),
    "cells of a table": (
        "dim i < I\ndim j < J\ninput a[i]: f32\ninput b[j]: f32\n"
        "r[i, j] = 0.0 when i == 0 or j == 0\n"
        "r[i, j] = abs(a - b) + min(stack([r[i-1, j], r[i, j-1]]))\n"
        "output r[I-1, J-1] as cost\n",
        ("the loop over `diagonal`", "same i + j are computed at once", "nothing to change"),
    ),
    "large cells of a table": (
        "dim i < I\ndim j < J\ninput a[i]: f32[2048]\ninput b[j]: f32[2048]\n"
        "r[i, j] = zeros(2048) when i == 0 or j == 0\n"
        "r[i, j] = abs(a - b) + minimum(r[i-1, j], r[i, j-1])\n"
        "output r[I-1, J-1] as cost\n",
        ("the loops over `i` and `j`", "`r[i, j]` needs `r[i-1, j]` (line 6)", "same `i + j`"),
    ),
    "a matrix factored element by element": (
        FACTOR + "output L\n",
        ("`L` (line 6) is Cholesky's factor", "help: `cholesky(a)`, of matrices whose rows"),
    ),
    "the gradient of one": (
        FACTOR + "s = sum(L[0:N-1, 0:N])\ng = grad(s, a)\noutput g\n",
        ("`grad(s, L)` goes back through Cholesky's factor `L` (line 6)", "so does its gradient"),
    ),
    "a triangular system": (
        SOLVE + "output z\n",
        ("`z` (line 5) solves a triangular system", "help: `triangular_solve(a, b)`"),
    ),
    "a triangular system from its end": (
        SOLVE.replace("L[i, 0:i] @ z[0:i]", "L[i+1:N, i] @ z[i+1:N]") + "output z\n",
        ("`z` (line 5) solves a triangular system",),
    ),
    "a guard on several dimensions": (
        "dim t < T\ndim i < N\ndim j < N\ninput start[i, j]: f32[3]\nu[0, i, j] = start\n"
        "u[t+1, i, j] = sort(u) when i == 0 or i == N-1 or j == 0 or j == N-1\n"
        "u[t+1, i, j] = 0.2 * (u + u[t, i-1, j] + u[t, i+1, j] + u[t, i, j-1] + u[t, i, j+1])\n"
        "output u[t = T-1] as last\n",
        ("`u` (line 6) needs nothing of other `i`", "`when i == 0 or i == N-1", "one equation for"),
    ),
    "read at the next step": (
        "dim c < C\ndim l < L\ninput q[c]: f32\npos[c, 0] = q\nmom[c, 0] = 0.0\n"
        "pos[c, l+1] = pos + 0.1 * mom\ng = 4.0 * pos ** 3\n"
        "mom[c, l+1] = mom - 0.1 * g[c, l+1]\noutput pos\n",
        ("`c` stays a loop because `mom` at line 8 reads `g` at the next `l`", "give the new"),
    ),
    "not kept for the loop": (
        "dim t < T\ninput x[t]: f32[64]\nparam s: f32[64]\n"
        "e = exp(sin(s * x[t])) * cos(x[t] * s) / (1.0 + exp(x[t]))\nh[0] = s\n"
        "h[t+1] = top_k(tanh(e * h), 64)[0]\noutput h[T-1] as last\n",
        ("`e` (line 4) needs nothing of other `t`", "kept for the loop", "`whole = e[0:T]`"),
    ),
    "a print of much": (
        RNN + 'big = einsum("i,j,k->ijk", h, h, h)\nprint big[t]\noutput h[T-1] as last\n',
        ("on the host", "line 7 prints `big` at each `t`", "print less of it"),
    ),
    "a print in a loop within": (
        "dim i < I\ndim t < T\nparam s: f32[8]\nb[0] = s\nh[i, 0] = b[i]\n"
        "h[i, t+1] = sort(tanh(h[i, t]))\nb[i+1] = h[i, T-1] * 0.5\nc = sum(h)\nprint c[i, t]\n"
        "output b[I-1] as last\n",
        ("`i` on the host", "line 9 prints `c` in a loop within it", "print after that loop"),
    ),
    "a print that is collected": (
        RNN.replace("8", "64") + "print h[t]\noutput h[T-1] as last\n",
        ("on the device", "line 6 prints 262080 numbers in all, 64 at each `t`", "become text"),
    ),
    "a sort": (
        RNN.replace("8", "512") + "output h[T-1] as last\n",
        ("line 5 puts 512 elements in order at each `t`", "`top_k(x, k)`"),
    ),
    "a row taken by a product": (
        "dim t < T\ninput k[t]: i32\nparam E: f32[500, 64]\ne = one_hot(k, 500) @ E\noutput e\n",
        ("line 4 multiplies `E` with `one_hot`: sums of 500 products", "`E[k]`"),
    ),
    "positions that are checked": (
        "dim i < I\ninput w[i]: i32\ninput s: f32[500]\nb[0] = s\n"
        "b[i+1] = maximum(b, (b)[arange(500) - w])\noutput b[I-1] as last\n",
        ("line 5 checks at each `i` whether 500 positions lie inside", "`clip(k, 0, n - 1)`"),
    ),
    "a number of double precision": (
        "dim t < T\nparam w: f32[64, 64]\nh[0] = w[0]\nh[t] = tanh(f64(0.5) * (w @ h[t-1]))\n"
        "output h\n",
        ("lines 3 and 4 compute in `f64`, as `f64(0.5)` (line 4) is", "`f32` there takes half"),
    ),
    "integers of 64 bits": (
        "dim t < T\ninput k[t]: i64[512]\ny = (k * 7 + t) % 1000\noutput y\n",
        ("line 3 computes in `i64`, as `k` (line 2) is", "below 2 ** 31, `i32` there takes half"),
    ),
    "a cast that is written twice, and meets numbers": (
        "dim t < T\ninput z[t]: f32[512]\nq = tanh(f64(z) * 2.0) @ f64(z)\noutput q\n",
        ("line 3 computes in `f64`, as `f64(z)` (line 3) is",),
    ),
    "what is too long to be quoted": (
        "dim t < T\ny = tanh(random.uniform([512], dtype = f64) + 1.0)\noutput y\n",
        ("line 2 computes in `f64`, as `y` (line 2) is",),
    ),
    "double precision": (
        "dim t < T\nparam w: f64[64, 64]\nh[0] = ones([64], dtype = f64)\nh[t] = tanh(w @ h[t-1])\n"
        "output h[T-1] as last\n",
        ("lines 3 and 4 compute in `f64`, as `h[0] =", "and `w` (line", "`f32` there takes half"),
    ),
    "steps that are written out": (
        "dim t < T\nparam w: f32[8, 8]\ndef f(h) {\nfor k in range(40) {\n"
        "h = h + sort(tanh(w @ h))\n}\nreturn h\n}\n"
        "h[0] = ones([8])\nh[t] = f(h[t-1])\noutput h[T-1] as last\n",
        ("line 5 is written out 40 times in one kernel", "a dimension of 40 steps"),
    ),
    "a range of a part": (
        "dim t < T\ninput x[t]: f32[8]\nparam w: f32[8]\n"
        "m[t] = sum(tanh(x[0:t+1] @ w + x[t][0]))\noutput m\n",
        ("`m` (line 4) goes through all of `x[0:t+1]`",),
    ),
    "a file at each step": (
        RNN + 'save h[t] to "h-{t}.safetensors"\noutput h[T-1] as last\n',
        ("on the host", "line 6 saves `h` at each `t`", "save it once, at the last step"),
    ),
    "a file at some steps": (
        RNN + 'save h[t] to "h-{t}.safetensors" when t >= 100\noutput h[T-1] as last\n',
        ("on the host", "line 6 saves `h` at some `t`", "when t % 100 == 99"),
    ),
    "a Python function at each step": (
        'dim t < T\nextern host step(a: f32[4]) -> (b: f32[4]) from "envs:step"\n'
        "x[0] = ones([4])\nx[t] = step(x[t-1])\noutput x[T-1] as last\n",
        ("on the host", "line 4 calls a Python function at each `t`", "`extern jax`", "`over b`"),
    ),
    "data decide the length": (
        "dim t < T until stop\ninput a: f32\nx[0] = a\nx[t+1] = 0.5 * (x + a / x)\n"
        "stop = abs(x * x - a) < 1e-6\noutput x[T-1] as root\n",
        ("`x[t+1]` needs `x[t]` (line 4)", "`stop`, line 5 decides how many steps there are"),
    ),
    "a range gone through anew": (
        "dim t < T\nparam w: f32[16, 16]\nparam s: f32[16]\nx[0] = s\n"
        "x[t] = tanh(w @ x[t-1] + o[t-1])\nv = tanh(x)\n"
        "o[t] = sum(exp(v[0:t+1] - x[t]), axis = 0)\noutput o[T-1] as last\n",
        ("`o` (line 7) goes through all of `v[0:t+1]` anew at each `t`", "running value", "window"),
    ),
    "the greatest of what is to come": (
        "dim t < T\ninput x[t]: f32\ninput y[t]: f32\nm[t] = max(x[t:T] * y[t])\noutput m\n",
        ("`x[t:T]` anew", "`S[t] = maximum(S[t+1], ...)`", "`[t:min(t+256, T)]`"),
    ),
    "attention to all that was": (
        "import nn\ndim t < T\ninput q[t]: f32[64]\ninput k[t]: f32[64]\n"
        "a[t] = nn.attention(q[t], k[0:t+1], k[0:t+1])\noutput a\n",
        ("`a` (line 5) goes through all of `k[0:t+1]`", "a window"),
    ),
    "an array that grows by copies": (
        "dim t < T\ninput x[t]: f32[4]\nh[t]: f32[4*(t+1)] = x[0] when t == 0\n"
        "h[t] = concat([h[t-1], x[t]], 0)\ns = sum(h)\noutput s\n",
        ("`h` (line 4) concatenates parts whose lengths vary with `t`", "read a slice of them"),
    ),
    "a window that is moved along": (
        "dim t < T\ninput x[t]: f32[64]\nparam w: f32[64]\nc[0] = zeros([512, 64])\n"
        "c[t] = concat([c[t-1][1:512], expand_dims(x, 0)], 0)\ny = sum(tanh(c @ w))\noutput y\n",
        ("`c` (line 5) is copied at each `t`, moved along", "(`x[max(0, t-511):t+1]`)"),
    ),
    "a window that the next step reads moved along": (
        "dim t < T\ninput x[t]: f32[64]\nparam w: f32[512, 64]\nc[0] = zeros([512, 64])\n"
        "c[t+1] = concat([expand_dims(x, 0), (c)[0:511]], 0)\ny = sum(c * w)\noutput y\n",
        ("`c` (line 5) is copied at each `t`", "at first and last to first (`flip`)"),
    ),
    "a window of what the loop makes": (
        "dim t < T\ninput x[t]: f32[64]\nparam w: f32[64, 64]\nm[0] = zeros([200, 64])\n"
        "m[t+1] = concat([m[t][1:200], expand_dims(h, 0)], 0)\n"
        "h = tanh(w @ (tanh(m @ x).T @ m) + x)\noutput h\n",
        ("`m` (line 5) is copied at each `t`, moved along", "(`x[max(0, t-199):t+1]`)"),
    ),
    "a branch of many points": (
        "dim b < B\ndim t < T\ninput x[b, t]: f32[64]\ninput m[b, t]: bool\n"
        "param w: f32[64, 64]\nh[b, 0] = zeros(64)\n"
        "h[b, t] = x + cond(m, h[b, t-1], tanh(w @ tanh(w @ h[b, t-1])))\n"
        "output h[b, T-1] as last\n",
        ("line 7 computes both sides of `cond` for all `b`", "`m` varies", "`all(m[b = 0:B])`"),
    ),
    "powers": (
        "dim t < T\ninput x[t]: f32[2048]\nh[0] = ones(2048)\n"
        "h[t] = abs(h[t-1]) ** 0.7 + x\ny = sum(h)\noutput y\n",
        ("line 4 raises 2048 numbers to a power that is not", "each `t`", "`exp(p * log(x))`"),
    ),
    "integers divided by data": (
        "dim t < T\ninput x[t]: i32[4096]\ninput d: i32\nh[0] = zeros([4096], dtype = i32)\n"
        "h[t] = (h[t-1] + x) // d\ny = sum(h)\noutput y\n",
        ("line 5 divides 4096 integers by what is no constant", "`i32(floor(f32(x) / f32(d)))`"),
    ),
    "a diagonal matrix": (
        "dim t < T\ninput x[t]: f32[256]\nparam d: f32[256]\nh[0] = zeros(256)\n"
        "h[t] = tanh((eye(256) * d) @ h[t-1] + x)\noutput h\n",
        ("line 5 multiplies with a matrix that `eye` makes diagonal: sums of 256", "`d * x`"),
    ),
    "a diagonal matrix of many": (
        "dim t < T\ninput x[t]: f32[256]\nparam d: f32[256]\n"
        "h[t] = tanh((eye(256) * d) @ sort(x))\noutput h\n",
        ("line 4 multiplies with a matrix that `eye` makes diagonal: sums of 256", "`d * x`"),
    ),
    "random numbers": (
        "dim t < T\ninput x[t]: f32[64]\nh[0] = zeros(64)\n"
        "h[t] = tanh(h[t-1] + x + random.normal([64]))\noutput h\n",
        ("line 4 draws 262080 random numbers", "which take about 30 ns each"),
    ),
    "random numbers of many": (
        "dim b < B\ndim t < T\ninput x[b, t]: f32[64]\nh[b, 0] = zeros(64)\n"
        "h[b, t] = tanh(h[b, t-1] + x + random.normal([64]))\noutput h[b, T-1] as last\n",
        ("line 5 draws 16384 random numbers at each `t`",),
    ),
    "random orders": (
        "dim t < T\nh[t] = sum(random.permutation(64) * arange(64))\noutput h\n",
        ("line 2 puts 64 places in a random order", "sorts as many random", "`random.integers`"),
    ),
    "an input in another order": (
        "dim a < A\ndim t < T\ninput x[a, t]: f32\nh[a, 0] = 0.0\n"
        "h[a, t] = tanh(h[a, t-1]) + x\ny = sum(h[0:A, t])\noutput y\n",
        ("is given with `a` before `t`, and turned over", "declare `dim t` before `dim a`"),
    ),
    "a gradient that is mostly zeros": (
        "dim i < I\ninput tok[i]: i32[64]\nparam E0: f32[5000, 64]\nE[0] = E0\n"
        "loss = mean(E[i][tok] ** 2)\nE[i+1] = E - 0.1 * grad(loss, E)\noutput loss\n",
        ("`grad(loss, E)` (line 6) has 320000 elements", "4096 are not zero", "each `i`"),
    ),
    "a side that is not chosen": (
        "dim t < T\ninput x[t]: f32[64]\ninput m[t]: bool\nparam w: f32[64, 64]\n"
        "h[0] = zeros(64)\nh[t] = where(m, tanh(w @ h[t-1] + x), h[t-1])\noutput h\n",
        ("line 6 computes at each step what `where`", "`cond` in place of `where` computes only"),
    ),
    "a clock of its own": (
        "dim t < T\nparam w: f32[128, 128]\ninput x[t]: f32[128]\nf[0] = zeros(128)\n"
        "f[t] = tanh(w @ f[t-1] + x + s[t-1])\ns[0] = zeros(128)\n"
        "s[t] = where(t % 8 == 0, tanh(w @ (w @ s[t-1]) + f), s[t-1])\noutput f[T-1] as last\n",
        ("line 7 computes at each `t` what `where`", "an equation with a condition (`when`)"),
    ),
    "double precision within a scan": (
        "dim t < T\nparam w: f32[64, 64]\nh[0] = ones([64])\n"
        "h[t] = tanh(f32(f64(w) @ f64(h[t-1])))\noutput h\n",
        ("`h` (line 4) is a scan", "line 4 computes in `f64`"),
    ),
    "a row that the loop finds, taken by a product": (
        "dim t < T\nparam E: f32[5000, 64]\nh[0] = ones([64])\n"
        "h[t] = tanh(h[t-1] + one_hot(argmax(h[t-1]), 5000) @ E)\noutput h\n",
        ("line 4 multiplies `E` with `one_hot`", "`E[argmax(h[t-1])]`"),
    ),
    "a matrix for one vector": (
        RNN.replace("8", "512") + "output h[T-1] as last\n",
        ("each step reads all of `w` (1.00 MiB)", "one vector (line 5)", "a further dimension"),
    ),
    "an axis in the way": (
        "dim c < C\ndim t < T\nparam x[c, t]: f32\ny[c, t] = x when t < 2\n"
        "y[c, t] = tanh(x - 0.5 * y[c, t-1] * y[c, t-2])\noutput y\n",
        ("with `t` innermost", "for all `c` is spread", "declare `dim t` before `dim c`"),
    ),
    "many small steps": (
        "dim n < N\nf[n] = 1 when n < 2\nf[n] = f[n-1] + f[n-2]\noutput f[N-1] as last\n",
        ("`f[n]` needs `f[n-1]` (line 3)", "computes so little", "several runs at once"),
    ),
    "a large result": (
        "dim t < T\ninput x[t]: f32[128]\ns = einsum(\"i,j->ij\", x, x)[t = 0:T] * 0.5\noutput s\n",
        ("memory limits it", "written as a whole, 256.00 MiB", "nothing to change"),
    ),
    "one operator does it": (
        "dim t < T\nparam s: f32[256]\nx[0] = s\ny = tanh(x)\n"
        "x[t] = sort(logsumexp(maximum(expand_dims(y[t-1], 1), y[t-1]), axis = 0))\n"
        "output x[T-1] as last\n",
        ("77% of the operations are those of line 5: 262144 at a step",),
    ),
}  # fmt: skip

# At the default level these are operators.
ELEMENT_BY_ELEMENT = (
    "a matrix factored element by element",
    "a triangular system",
    "a triangular system from its end",
)

TILES = """\
dim b < B
dim t < T
input h[b, t]: f32[16]
param head: f32[16, 4096]
scores = h[b, 0:T] @ head
loss[b] = mean(logsumexp(scores, axis = 1))
output loss
"""


def compilation(text: str, **options: object) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), Options(**options))  # type: ignore[arg-type]


def explained(text: str, bounds: Mapping[str, int] | None = None, **options: object) -> str:
    """The report with each sentence on one line."""
    report = slow_text(slow_report(compilation(text, **options), bounds))
    return re.sub(r"\n +(?!\d|why:|help:|line |\w+/)", " ", report)


@pytest.mark.parametrize("name", CLIFFS)
def test_cliffs(name: str) -> None:
    text, wanted = CLIFFS[name]
    ahead = name == "read at the next step"
    options = {"passes": "canonicalize,vectorize,fuse", "regions": True} if ahead else {}
    report = explained(text, **options, **({"level": 1} if name in ELEMENT_BY_ELEMENT else {}))
    assert [w for w in wanted if w not in report] == [], report


@pytest.mark.parametrize("name", ELEMENT_BY_ELEMENT)
def test_equations_that_became_operators_are_not_said_to_be_slow(name: str) -> None:
    report = explained(CLIFFS[name][0])
    assert "element by element" not in report and "at once" not in report.split("help:")[-1]


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        (FACTOR + "output L\n", "sqrt(a[i, i] - sum(L[i, 0:i] ** 2))", "a[i, i]"),
        (FACTOR + "output L\n", "/ L[j, j]", "/ a[j, j]"),
        (SOLVE + "output z\n", "/ L[i, i]", "/ L[i, 0]"),
        (SOLVE + "output z\n", "(y[i] - L", "(y[i] + L"),
        (SOLVE + "output z\n", "@ z[0:i]", "@ y[0:i]"),
        (SOLVE + "output z\n", "L[i, 0:i] @ z[0:i]", "L[i, 1:i] @ z[1:i]"),
    ],
)
def test_only_what_an_operator_computes_is_called_so(text: str, one: str, other: str) -> None:
    assert one in text
    report = explained(text.replace(one, other))
    assert "triangular" not in report and "holesky" not in report


def test_tiles_for_other_sizes_than_these() -> None:
    report = explained(TILES, {"B": 4, "T": 100})
    assert "`scores` (line 5) is computed in tiles" in report and "6.25 MiB as a whole" in report
    assert "all at once takes no less" in report
    assert "1.00 GiB" in explained(TILES) and "takes no less" not in explained(TILES)
    bounded = TILES.replace("input", "assume B <= 4\nassume T <= 100\ninput", 1)
    assert "tile" not in explained(bounded)


def test_small_tensors_are_better_not_tiled() -> None:
    text = "dim b < B\ninput x[b]: f32[16]\n"
    text += "d[b] = sum((x[0:B] - x) ** 2, axis = 1)\nfar[b] = max(sqrt(d))\noutput far\n"
    report = explained(text, {"B": 128})
    assert "1.00 MiB as a whole" in report and "help: `assume B <= 128`, if no larger" in report
    assert "assume" not in explained(text, {"B": 256})
    assert "tile" not in explained(text.replace("input", "assume B <= 128\ninput", 1), {"B": 128})


def test_small_diagonals_are_not_worth_a_word() -> None:
    text, _ = CLIFFS["a diagonal matrix of many"]
    assert "diagonal" not in explained(text.replace("256", "8"))


def test_a_side_that_is_nearly_always_chosen_is_none_to_spare() -> None:
    text, _ = CLIFFS["a clock of its own"]
    assert "leaves out at many" not in explained(text.replace("t % 8 == 0", "t > 1"))


def test_scans_within_loops_have_steps_of_their_own() -> None:
    """A step of a scan takes less than the step of the loop that it is in."""
    text = (
        "dim i < I\ndim t < T\ninput x[t]: f32[16]\nparam w0: f32[16, 16]\nw[0] = w0\n"
        "h[i, 0] = zeros(16)\nh[i, t] = tanh(w @ h[i, t-1] + x)\n"
        "loss = mean(sum(h ** 2)[t = 0:T])\nw[i+1] = w - 0.1 * grad(loss, w)\noutput loss\n"
    )
    report = explained(text, {"I": 30, "T": 64})
    assert "29 steps of 16 us" in report and "`h` (line 7) is a scan: 63 steps of" in report
    assert "us, one after the other" not in report
    assert "`grad(loss, h)` (line 7) is a scan: 63 steps of" in report


def test_what_is_read_is_no_more_than_that() -> None:
    text = (
        "dim t < T\ninput x[t]: f32[32]\nh[0] = zeros(32)\n"
        "h[t] = tanh(sum(stack([sin(h[t-1] * (k + 1)) for k in range(40)], 0), axis = 0) + x)\n"
        "y = sum(h)\noutput y\n"
    )
    assert "`h[t]` needs `h[t-1]` (line 4)" in explained(text)
    assert "or an axis where none does" in explained(text)


def test_what_helps_a_gradient_is_the_window_of_what_is_differentiated() -> None:
    text = (
        "dim i < I\ndim t < T\ninput x[t]: f32[32]\nparam w0: f32[32, 32]\nw[0] = w0\n"
        "k = w @ x\na[i, t] = sum(tanh(k[i, 0:t+1] @ x[t]))\nloss = mean(a[i, 0:T])\n"
        "w[i+1] = w - 0.1 * grad(loss, w)\noutput loss\n"
    )
    report = explained(text, {"I": 20, "T": 200})
    assert "`grad(loss, k)` (line 6) goes through all" in report
    assert "it is that of what reads `k`: a window there bounds both" in report
    assert "S[t+1]" not in report


def test_one_tile_is_no_reason() -> None:
    """For bounds at which one tile has all rows."""
    report = explained(TILES, {"B": 1, "T": 4096})
    assert "since as a whole" not in report and "each step needs" not in report


def test_no_axis_is_in_the_way_where_the_loop_has_the_one_in_front() -> None:
    text, _ = CLIFFS["an axis in the way"]
    report = explained(text.replace("param", "input"))
    assert "the loop over `t`" in report and "innermost" not in report


def test_the_diagonals_of_a_table_are_spread_however_it_lies_in_memory() -> None:
    report = explained(
        "dim i < I\ndim j < J\ninput x[i, j]: f32\nd[i, j] = x when i == 0 or j == 0\n"
        "d[i, j] = x + minimum(d[i-1, j], d[i, j-1])\noutput d[I-1, J-1] as last\n"
    )
    assert "i + j are computed at once" in report and "innermost" not in report


def test_what_decides_a_length_stands_in_its_own_equation() -> None:
    text = (
        "dim t < T until stop\ninput x: f32[64]\nparam w: f32[64, 64]\nh[0] = x\n"
        "h[t+1] = tanh(w @ h)\nstop = sum((w @ (w @ h) - h) ** 2) < 1e-9\n"
        "output h[T-1] as last\n"
    )
    assert "`stop[t]` needs `h[t]` (line 6)" in explained(text)


def test_layers_with_weights_that_cannot_be_written_out() -> None:
    step = "sort(tanh(w @ x + a))" + "".join(f" + sort(sin(x * {k}.5) * a)" for k in range(9))
    report = explained(
        "dim t < T\ndim l < L = 64\nparam w[l]: f32[4, 4]\nparam a[l]: f32[4]\nparam s: f32[4]\n"
        f"x[0, 0] = s\nx[t, 0] = y[t-1, L-1]\nx[t, l+1] = y\ny[t, l] = x + {step}\n"
        "output y[t = T-1, l = L-1] as last\n"
    )
    assert "the host runs `t` step by step" in report and "written out" in report
    assert "diagonals" not in report, "layers of a step need the last one of the step before"


def test_lengths_of_their_own() -> None:
    report = explained(
        "dim i < I\ndim k < K until stop\ninput a[i]: f32\nx[i, 0] = a\n"
        "x[i, k+1] = 0.5 * (x + a / x)\nstop[i, k] = abs(x * x - a) < 1e-6\n"
        "root[i] = x[i, K-1]\noutput root\n"
    )
    if "on the host" in report:
        assert "how many steps `k` has is found out for each `i` (`stop`, line 6)" in report
        assert "let all `i` stop together" in report


def test_levels_at_which_loops_are_the_host_s() -> None:
    report = explained(RNN + "output h[T-1] as last\n", level=1)
    assert "the loop over `t` on the host" in report and "compile with -O2" in report


def test_what_the_passes_make_of_it_has_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    order = Compilation._order

    def refused(self: Compilation, graph: Graph) -> ScheduledGraph:
        if any(node.vector for node in graph.nodes.values()):
            raise DiagnosticError(Diagnostic(code="RT400", message="no order"))
        return order(self, graph)

    monkeypatch.setattr(Compilation, "_order", refused)
    program = compilation("dim t < T\ninput x[t]: f32\ny = sin(x) + 1.0\noutput y\n")
    assert not program.is_plain and program.remarks, "nothing is known before there is an order"
    report = slow_text(slow_report(program, None))
    assert program.is_plain and "nothing is optimized" in report
    (remark,) = [r for r in program.remarks if r.step != "regions"]
    assert (remark.step, "nothing is optimized" in remark.message) == ("schedule", True)


def test_what_helps_against_a_guard_helps() -> None:
    before, _ = CLIFFS["a guard on several dimensions"]
    sides = ("i == 0", "i == N-1", "j == 0", "j == N-1")
    equations = "".join(f"u[t+1, i, j] = sort(u) when {side}\n" for side in sides)
    after = re.sub(r"u\[t\+1, i, j\] = sort\(u\) when .*\n", equations, before)
    reports = [slow_report(compilation(text), None) for text in (before, after)]
    assert reports[1].seconds < reports[0].seconds
    assert not any(f.help for part in reports[1].parts for f in part.findings)


def test_what_helps_against_checks_of_positions_helps() -> None:
    text, _ = CLIFFS["positions that are checked"]
    for one, other in (("arange(500) - w", "clip(arange(500) - w, 0, 499)"), ("w[i]", "w")):
        assert one in text and "lie inside" not in explained(text.replace(one, other))


def test_what_helps_against_values_that_are_not_kept_helps() -> None:
    before, _ = CLIFFS["not kept for the loop"]
    after = before.replace("h[0] = s", "whole = e[0:T]\nh[0] = s").replace("e * h", "whole[t] * h")
    first, *others = slow_report(compilation(after), None).parts
    assert loop(first) and not loop(others[0])
    assert "line 4" in others[0].equations[0], "all of `e` is computed before the loop"


def loop(part: SlowPart) -> bool:
    return part.title.startswith("the loop")


def test_bounds_are_those_given_or_named() -> None:
    text = RNN + "output h[T-1] as last\n"
    assert "for T = 4096, assumed since no --bounds are given" in explained(text)
    assert "for T = 10\n" in explained(text, {"T": 10})
    ten, thousand = (slow_report(compilation(text), {"T": n}).seconds for n in (11, 1001))
    assert 50 < thousand / ten < 101


def test_shares_add_up() -> None:
    for text, _ in list(CLIFFS.values())[:4]:
        report = slow_report(compilation(text), None)
        assert 0 < sum(p.share for p in report.parts) <= 1.0001
        assert [p.seconds for p in report.parts] == sorted(p.seconds for p in report.parts)[::-1]


def test_rows_of_a_table_cost_what_they_have() -> None:
    text = (
        "dim t < T\ninput row[t]: i32\nconst N = 1000\nx[0] = zeros([N, 8])\n"
        "x[t] = put(x[t-1], row[t], ones([8]) * t)\ny[t] = x[t][row[t]]\noutput y\n"
    )
    few, many = (
        slow_report(compilation(text.replace("N = 1000", f"N = {n}")), {"T": 1000}).seconds
        for n in (1000, 2000)
    )
    assert many < 1.1 * few


def test_a_program_without_work() -> None:
    assert explained("dim t < T\ninput x[t]: f32\noutput x\n") == "nothing is computed\n"
