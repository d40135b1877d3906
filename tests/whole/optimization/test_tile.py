"""Programs whose large tensors are computed tile by tile, against the reference evaluator."""

from __future__ import annotations

import pytest
from hypothesis import given, note, strategies as st

from tempoc.driver.options import Options
from tests.support.agreement import agree
from tests.support.generators.settings import generated
from tests.support.optimized import assert_kept
from tests.support.session.long import in_turns

PASSES = "canonicalize,algebra,canonicalize,{},tile{{size=3}},accumulate,fuse"
PLAIN, VECTOR = (PASSES.format(p).replace(",,", ",") for p in ("", "vectorize"))
SIZES = tuple({"B": b, "T": t} for b, t in ((1, 1), (3, 7)))
HEAD = """
dim b < B
dim t < T
input x[b, t]: f32[2]
input y[t]: f32[2]
input n[t]: i32
"""
PROGRAMS = {
    "a loss over a vocabulary, and its gradients": """
param w: f32[2, 5] = reshape(f32(arange(10)) * 0.1, [2, 5])
h = tanh(y)
z = h[t = 0:T] @ w
k = n[0:T] % 5
loss = mean(logsumexp(z, axis = 1) - take_along(z, expand_dims(k, 1), axis = 1)[:, 0])
dw = grad(loss, w)
dh = grad(loss, h)
output loss, dw, dh
""",
    "all reductions": """
z = exp(y[0:T]) * 2.0
a = sum(z)
m = mean(z, axis = 0)
p = prod(z, axis = 0, keepdims = true)
hi = max(z, axis = 0)
lo = min(z)
l = logsumexp(z, axis = 0)
c = sum(z > 2.0)
q = any(z > 3.0, axis = 0)
r = all(z > 0.2)
v = var(z, axis = 0)
i = argmax(z, axis = 0)
output a, m, p, hi, lo, l, c, q, r, v, i
""",
    "a softmax over the cut axis, which needs all tiles twice": """
z = y[0:T] @ full([2, 4], 0.5)
e = exp(z - max(z, axis = 0, keepdims = true))
s = e / sum(e, axis = 0, keepdims = true)
o = sum(s * z, axis = 0)
output o, s
""",
    "a batch and time": """
z = tanh(x[b = 0:B, t = 0:T] @ full([2, 3], 0.5))
s = sum(z, axis = [0, 1])
u = einsum("btk,btl->kl", z, z)
m = max(z, axis = 0)
output s, u, m
""",
    "each batch by itself": """
z = tanh(x[t = 0:T] @ full([2, 3], 0.5)) + f32(b)
s = sum(z * z, axis = 0)
r = z[b][t] - s
output s, r
""",
    "slices that are shorter, shifted and strided": """
z = tanh(y[1:T]) * y[0:T-1] * y[t = 0:1]
a = sum(z, axis = 0)
w = tanh(y[0:T:2])
c = sum(w * w)
l = logsumexp(w, axis = 0)
output a, c, z, w, l
""",
    "scans and sorts along the axis stay whole, along others are cut": """
z = y[0:T] * 2.0
c = cumsum(z, axis = 1)
s = sort(z, axis = 1)
d = cumsum(z, axis = 0)
o = sum(c * s + d, axis = 0)
output o, d
""",
    "movement": """
z = y[0:T] + 1.0
a = sum(transpose(z, [1, 0]) * 2.0, axis = 1)
f = sum(flip(z, 1), axis = 0)
g = concat([z, z * z], 1)
h = stack([z, z], 1)
p = pad(z, [[0, 0], [1, 2]])
q = reshape(z, [T, 2, 1])
k = sum(g, axis = 0)
l = sum(h, axis = 0) + sum(q)
m = max(p, axis = 0)
output a, f, k, l, m, q
""",
    "indexing": """
z = y[0:T] * 3.0
k = abs(n[0:T]) % 2
a = sum(z[:, 1])
table = reshape(f32(arange(6)), [3, 2])
e = table[k] * z
g = grad(sum(e * e), y)
h = sum(one_hot(k, 3), axis = 0)
o = sum(take(table, k, axis = 0) * z, axis = 0)
output a, e, g, h, o
""",
    "a step of descent after another": """
dim i < I = 3
w[0] = full([2, 4], 0.25)
z = tanh(y[t = 0:T] @ w)
loss = mean(z * z)
w[i+1] = w - 0.1 * grad(loss, w)
output loss, w[I-1] as last
""",
    "through a hidden layer": """
param w: f32[2, 4] = full([2, 4], 0.3)
param v: f32[4, 2] = full([4, 2], -0.2)
h = relu(y[0:T] @ w)
o = h @ v
d = o - y[0:T]
loss = mean(sum(d * d, axis = 1))
dw = grad(loss, w)
dv = grad(loss, v)
output loss, dw, dv
""",
    "halves": """
z = bf16(y[0:T]) * 2.0
s = sum(z, axis = 0)
m = mean(z)
u = z.T @ z
h = max(z, axis = 0)
output s, m, u, h
""",
    "loops within loops": """
r[b, 0] = full([2], 0.5)
r[b, t+1] = tanh(r[b, t] + x[b, t])
z = r[t = 0:T] @ full([2, 3], 0.5)
s = sum(exp(z), axis = 0)
c = cumsum(s)
output s, c
""",
    "point by point": """
param w: f32[2, 5] = reshape(f32(arange(10)) * 0.1, [2, 5])
h = tanh(y)
z = h @ w
e = logsumexp(z, axis = 0) - sum(z * one_hot(abs(n) % 5, 5))
loss = mean(e[t = 0:T])
dw = grad(loss, w)
dh = grad(loss, h)
output loss, dw, dh
""",
    "point by point, for each row of a batch": """
param w: f32[2, 3] = reshape(f32(arange(6)) * 0.1, [2, 3])
z = tanh(x @ w) * f32(t + 1)
m = max(z[t = 0:T], axis = 0)
s = sum((z - m)[b = 0:B, t = 0:T], axis = [0, 1])
loss = mean(sum(z * z, axis = 0)[b = 0:B, t = 0:T])
dw = grad(loss, w)
output s, loss, dw
""",
    "points that read their neighbours": """
z = exp(y)
d[0] = z[0]
d[t] = z[t] - z[t-1]
r = z[T-1-t] * random.uniform([2])
s = sum(d[t = 0:T] * r[t = 0:T], axis = 0)
a = sum((z * 2.0)[t = 0:T:2], axis = 0)
output s, a, d
""",
    "what a tile needs comes from later iterations": """
u[b] = sum(tanh(y[0:T] + u[b+1]), axis = 0) when b < B-1
u[b] = sum(y[0:T] * 0.5, axis = 0) when b == B-1
output u
""",
}


@pytest.mark.parametrize(("name", "passes"), in_turns(PROGRAMS, (PLAIN, VECTOR), "both pipelines"))
def test_compiled_programs_agree(name: str, passes: str) -> None:
    some = SIZES if passes == VECTOR else SIZES[1:]
    agree(f"{HEAD}{PROGRAMS[name]}", *some, passes=passes)


LEARNER = """
dim t < T
dim b < B
input x[b]: f32[2]
param w: f32[3, 2] = reshape(f32(arange(6)) * 0.2, [3, 2])
param u: f32[2, 3] = full([2, 3], -0.3)
o[0, b] = x[b]
o[t+1, b] = stop_gradient(u @ h + random.normal([2]))
h = tanh(w @ o)
v = u @ tanh(w @ (o * 0.5))
far = v[t = 0:T, b = 0:B]
error = u @ h - (v - mean(far)) / (var(far) + 1.0)
loss = mean((error * error)[t = 0:T, b = 0:B])
dw = grad(loss, w)
du = grad(loss, u)
output loss, dw, du
"""


def test_a_learner_in_microbatches_agrees() -> None:
    passes = "canonicalize,algebra,canonicalize,vectorize,microbatch{size=3},accumulate,fuse"
    agree(LEARNER, *({"B": b, "T": t} for b, t in ((2, 1), (3, 7))), passes=passes)


SHARED = """
dim t < T
dim b < B
input o[t, b]: f32[2]
input r[t, b]: f32
input last[b]: f32
param w: f32[3, 2] = reshape(f32(arange(6)) * 0.2, [3, 2])
v = sum(tanh(w @ o))
loss = mean(((v - stop_gradient(g)) ** 2)[t = 0:T, b = 0:B])
dw = grad(loss, w)
output loss, dw
"""
"""A loss whose derivative needs values, and results of a recurrence that reads them."""
RECURRENCES = {
    "advantages, of which each reads the next value": """
n[t, b] = v[t+1, b] when t < T-1
n[t, b] = last
d = r + 0.9 * n - v
g[t, b] = d + 0.8 * r * g[t+1, b] when t < T-1
g[t, b] = d
""",
    "the greatest value to come": """
g[t, b] = maximum(v, g[t+1, b]) when t < T-1
g[t, b] = v
""",
    "a state that runs forward": """
g[0, b] = last
g[t+1, b] = r[t+1, b] + tanh(g[t, b]) - 0.1 * v[t+1, b]
""",
}
IN_TILES = "canonicalize,algebra,canonicalize,vectorize,scans,canonicalize,{},accumulate,fuse"
ENDS_OF_TILES = tuple({"B": b, "T": t} for b, t in ((2, 1), (1, 2), (2, 3), (1, 4), (3, 7)))


@pytest.mark.parametrize("name", RECURRENCES)
def test_values_that_a_recurrence_reads_and_their_gradient_are_of_one_loop(name: str) -> None:
    text = SHARED + RECURRENCES[name]
    for size in (1, 3):
        options = Options(verify_each=True, passes=IN_TILES.format(f"microbatch{{size={size}}}"))
        compilation = assert_kept(text, *ENDS_OF_TILES, options=options)
        tanh = [n for n in compilation.optimized.nodes.values() if n.op.name == "tanh"]
        assert len([n for n in tanh if n.types[0].shape]) == 1


def test_scans_are_not_cut_where_their_steps_are_launched() -> None:
    (text, *_) = RECURRENCES.values()
    options = Options(passes=IN_TILES.format("microbatch{size=3}"), device="gpu")
    compilation = assert_kept(SHARED + text, {"B": 2, "T": 7}, options=options)
    scans = [n for n in compilation.optimized.nodes.values() if n.op.name == "recurrence"]
    assert [n.domain.dims for n in scans] == [("b",)]


def test_rows_of_a_recurrence_that_some_points_read_are_of_no_tile() -> None:
    more = "h[t, b] = v * stop_gradient(g) when t >= 1\nloss = sum(h[t = 1:T, b = 0:B]) +"
    text = SHARED.replace("loss =", more) + RECURRENCES["the greatest value to come"]
    options = Options(verify_each=True, passes=IN_TILES.format("microbatch{size=3}"))
    assert_kept(text, {"B": 2, "T": 7}, options=options)


def test_values_at_other_points_of_another_dimension_are_computed_there() -> None:
    text = """
g[t, b] = maximum(v[t, b+1], g[t+1, b]) when t < T-1 and b < B-1
g[t, b] = v[t, b+1] when b < B-1
"""
    options = Options(verify_each=True, passes=IN_TILES.format("microbatch{size=3}"))
    text = SHARED.replace("b = 0:B]", "b = 0:B-1]") + text
    compilation = assert_kept(text, {"B": 3, "T": 7}, options=options)
    assert "g.rows.handed" in compilation.optimized.nodes


def test_a_recurrence_in_tiles_agrees() -> None:
    (text, *_) = RECURRENCES.values()
    agree(SHARED + text, {"B": 2, "T": 8}, passes=IN_TILES.format("microbatch{size=3}"))


ROWS = (
    "tanh(y[0:T] @ w)", "exp(0.3 * y[0:T]) @ w", "y[0:T] * c[0:T] @ w", "(c * 0.5)[t = 0:T] @ w",
    "y[1:T] @ w + y[0:T-1] @ w", "y[0:T:2] @ w", "einsum(\"td,dk->tk\", y[0:T], w * w)",
)  # fmt: skip
ENDS = (
    "sum(z, axis = 0)", "mean(z * z)", "sum(exp(z)) * 0.1", "sum(logsumexp(z, axis = 1))",
    "max(z, axis = 0)", "sum(cumsum(z, axis = 1))", "z.T @ z", "sum(z * p)", "prod(1.0 + 0.1 * z)",
    "sum(softmax(z) * z)", "logsumexp(z, axis = 0)", "min(z)",
)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Rows made of slices, reduced and contracted in several ways, and derivatives of all that."""
    lines = [
        "def softmax(z) = exp(z - logsumexp(z, axis = 1, keepdims = true))",
        "dim t < T",
        "input y[t]: f32[2]",
        "param w: f32[2, 3] = reshape(f32(arange(6)) * 0.2 - 0.5, [2, 3])",
        f"c = {draw(st.sampled_from(('tanh(y)', 'y * f32(t)', 'y - 0.5')))}",
    ]
    parts = []
    for k in range(draw(st.integers(1, 2))):
        row = draw(st.sampled_from(ROWS))
        lines.append(f"z{k} = {row}")
        lines.append(f"p{k} = sigmoid(z{k})")
        for j in range(draw(st.integers(1, 3))):
            end = draw(st.sampled_from(ENDS)).replace("z", f"z{k}").replace("p)", f"p{k})")
            end = end.replace(f"softmaxz{k}", "softmax")
            empty = "[1:T]" in row and end.startswith(("max", "min", "mean", "logsumexp(z"))
            if not empty or "axis = 1" in end:
                lines.append(f"r{k}{j} = {end}")
                parts.append(f"r{k}{j}")
    lines.append(f"l = {' + '.join(f'sum({p})' for p in parts) or 'sum(w)'}")
    lines += ["dw = grad(l, w)", "dc = grad(l, c)"]
    return "\n".join([*lines, f"output {', '.join([*parts, 'l', 'dw', 'dc'])}", ""])


@pytest.mark.parametrize("size", [2, 3])
@given(text=programs())
@generated(1, long=3)
def test_generated_programs_agree(size: int, text: str) -> None:
    note(text)
    passes = f"canonicalize,algebra,canonicalize,vectorize,tile{{size={size}}},accumulate,fuse"
    agree(text, *({"T": n} for n in (1, 8)), passes=passes)


def test_columns_are_those_of_their_own_dimension() -> None:
    """Tiles are of `b`, and each point of `t` reads its own column."""
    text = """
dim b < B
dim t < T
input x[b, t]: f32[2, 3]
input w: f32[3]
z = x * w + x
y = max(z[b, 0:t+1], axis = 1, keepdims = true)
l = sum(y * y) + sum(y)
c = sum(l[b = 0:B, t = 0:T])
g = grad(c, x)
h = grad(c, w)
output g, h
"""
    agree(text, {"B": 2, "T": 4})


def test_full_tiles_name_no_tile_in_their_extent() -> None:
    """Windows from the next step on, `T-1` of them: a tile has `max(0, min(2, T-1-2*tile))`."""
    text = f"{HEAD}w[b, t] = sum(exp(x[b, t+1:min(t+3, T)])) * y[t][0]\noutput w"
    agree(text, *SIZES, passes="canonicalize,vectorize,lift,tile{size=2},fuse")
