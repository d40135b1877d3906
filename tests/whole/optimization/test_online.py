"""Attention over long or ragged ranges, tile by tile, against the reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, note, strategies as st

from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.bounds import resolve
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.run import Settings, run_given
from tests.support.agreement import agree, compile_text, free_bounds
from tests.support.generators.settings import generated
from tests.support.session.long import in_turns

PASSES = "canonicalize,algebra,canonicalize,{}tile{{size={}}},accumulate,fuse"
SIZES = tuple({"T": t, "B": b} for t, b in ((1, 1), (3, 2), (8, 1)))
HEAD = """
import nn
dim b < B
dim t < T
input q[t]: f32[4]
input k[t]: f32[4]
input v[t]: f32[4]
input Q[b, t]: f32[2, 4]
input K[b, t]: f32[2, 4]
input V[b, t]: f32[2, 4]
"""
PROGRAMS = {
    "several heads": """
s = einsum("shd,hd->hs", K[b, 0:t+1], Q)
a = einsum("hs,shd->hd", nn.softmax(s), V[b, 0:t+1])
output a
""",
    "heads last, one maximum for all": """
s = einsum("shd,hd->sh", K[b, t:T], Q)
e = exp(s - max(s))
a = einsum("sh,shd->dh", e, V[b, t:T]) / sum(e, axis = 0)
l = log(sum(e)) + max(s)
output a, l
""",
    "logarithms": """
s = k[0:t+1] @ q
a = nn.log_softmax(s) @ v[0:t+1]
l = logsumexp(s)
output a, l
""",
    "weights that are looked at": """
w = nn.softmax(k[0:t+1] @ q)
a = w @ v[0:t+1]
c = -log(max(w))
output a, c
""",
    "terms that are not linear": """
s = k[0:t+1] @ q
e = exp(s - max(s))
a = sum(e * e)
u = sum(exp(s - max(s) - 1.0))
p = prod(1.0 + e)
m = mean(e * sum(v[0:t+1], axis = 1))
output a, u, p, m
""",
    "attention to attention": """
y = nn.softmax(k[0:t+1] @ q) @ v[0:t+1]
z = nn.softmax(y[t:T] @ y) @ y[t:T]
output z
""",
    "a state that looks at all before": """
x[0] = q[0]
x[t+1] = tanh(nn.softmax(x[0:t+1] @ x[t]) @ x[0:t+1] + q[t])
output x
""",
    "one query": """
a = nn.softmax(k[0:T] @ q[T-1]) @ v[0:T]
output a
""",
}


SLOPES = """
l = mean(sum(y * y)[t = 0:T])
dq = grad(l, q)
dk = grad(l, k)
dv = grad(l, v)
output l, dq, dk, dv
"""
LEARNED = {
    "what is before": "y = nn.softmax(k[0:t+1] @ q) @ v[0:t+1]",
    "what comes": "y = nn.softmax(k[t:T] @ q) @ v[t:T]",
    "all": "y = nn.softmax(k[0:T] @ q) @ v[0:T]",
    "two layers": """z = nn.softmax(k[0:t+1] @ q) @ v[0:t+1]
y = nn.softmax(z[0:t+1] @ z) @ z[0:t+1]""",
}


@pytest.mark.parametrize("name", LEARNED)
def test_gradients_agree(name: str) -> None:
    agree(HEAD + LEARNED[name] + SLOPES, *SIZES[::2], passes=PASSES.format("vectorize,", 3))


def test_gradients_of_heads_agree() -> None:
    text = """
s = einsum("shd,hd->hs", K[b, 0:t+1], Q)
y = einsum("hs,shd->hd", nn.softmax(s), V[b, 0:t+1])
l = mean(sum(y * y)[b = 0:B, t = 0:T])
dQ = grad(l, Q)
dK = grad(l, K)
dV = grad(l, V)
output dQ, dK, dV
"""
    agree(HEAD + text, *SIZES[1:], passes=PASSES.format("vectorize,", 3))


TRAINED = """
import nn
dim i < I
dim t < T
input x[t]: f32[4]
w[0] = full([4, 4], 0.3)
w[i+1] = w[i] - 0.1 * grad(l, w)
z = x @ w[i]
y = nn.softmax(z[i, 0:t+1] @ z) @ x[0:t+1]
u = nn.softmax(y[i, 0:t+1] @ y) @ y[i, 0:t+1]
l = mean(sum(u * u)[t = 0:T])
output l
"""


@pytest.mark.long("whole training")
def test_training_agrees() -> None:
    sizes = ({"T": t, "I": i} for t, i in ((1, 2), (5, 3)))
    agree(TRAINED, *sizes, passes=PASSES.format("vectorize,", 2))


@pytest.mark.parametrize("text", [HEAD + LEARNED["what is before"] + SLOPES, TRAINED])
def test_training_keeps_no_square_of_scores(text: str) -> None:
    _, loaded = compile_text(text, 2, PASSES.format("vectorize,", 16))
    bounds = dict.fromkeys(free_bounds(text), 3)
    peaks = []
    for size in (512, 1024):
        values = resolve(loaded.program, bounds | {"T": size}, (), {}).values
        peaks.append(forecast(loaded.program, values, default_filled_stores(loaded.program)).peak)
    assert peaks[1] < 2.1 * peaks[0]


@pytest.mark.parametrize(
    ("name", "vector"), in_turns(PROGRAMS, ("vectorize,", ""), "both pipelines")
)
def test_programs_agree(name: str, vector: str) -> None:
    some = SIZES[2:] if vector else SIZES[1:2]  # the last tile not full, or one that is
    agree(HEAD + PROGRAMS[name], *some, passes=PASSES.format(vector, 3))


RANGES = ("0:t+1", "t:T", "0:T", "max(0, t-3):t+1", "t:min(t+4, T)", "max(0, t-2):min(t+3, T)")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Attention of each point to a range, masked or not, as functions or spelled out."""
    near = draw(st.sampled_from(RANGES))
    lines = [f"s = k[{near}] @ q" + draw(st.sampled_from(["", " / 2.0", " + 80.0", " * 100.0"]))]
    if draw(st.booleans()):
        lines.append(f"m = where(v[{near}][:, 0] < q[t][1], s, -inf)")
    else:
        lines.append("m = s")
    if draw(st.booleans()):
        lines.append("w = nn.softmax(m)")
    else:
        lines += ["e = exp(m - max(m))", "w = e / sum(e)"]
    results = [f"a = w @ v[{near}]"]
    if draw(st.booleans()):
        results.append(f"c = sum(w * v[{near}][:, 2]) + mean(w)")
    if draw(st.booleans()):
        results.append("l = logsumexp(m)")
    names = ", ".join(r.split(" ")[0] for r in results)
    return "\n".join([*lines, *results, f"output {names}", ""])


@pytest.mark.parametrize("special", [False, True])
@given(text=programs(), vector=st.booleans(), size=st.sampled_from([1, 2, 3]))
@generated(2, long=5)
def test_generated_attention_agrees(special: bool, text: str, vector: bool, size: int) -> None:
    note(text)
    passes = PASSES.format("vectorize," if vector else "", size)
    agree(HEAD + text, *({"T": n, "B": 1} for n in (2, 5)), passes=passes, special=special)


MISALIGNED = """
dim t < T
input x[t]: f32[2, 2]
input w[t]: f32[2, 2]
s = einsum("sab,bc->sac", x[0:t+1], w)
m = max(s, axis = {axes})
a = sum(exp(s - {moved}), axis = 0)
output a
"""


@pytest.mark.parametrize(
    ("axes", "moved"),
    [("[0, 1]", "reshape(m, [1, 2, 1])"), ("0", "transpose(m)"), ("0", "flip(m, [0, 1])")],
)
def test_the_maximum_of_other_terms_is_not_subtracted_before_it_is_known(
    axes: str, moved: str
) -> None:
    """The maximum so far of other terms may be so small that `exp` overflows."""
    text = MISALIGNED.format(axes=axes, moved=moved)
    _, loaded = compile_text(text, 2, PASSES.format("", 1))
    x = np.zeros((3, 2, 2), np.float32)
    x[0, 0, 1] = x[2, 1, 0] = 150
    inputs = as_sources({"x": x, "w": np.stack([np.eye(2, dtype=np.float32)] * 3)})
    run = run_given(loaded, Given(bounds={"T": 3}, inputs=inputs, params={}), Settings())
    last = np.asarray(run.outputs["a"])[-1]
    assert np.isfinite(last).all()
    assert last[0, 1] == 1
