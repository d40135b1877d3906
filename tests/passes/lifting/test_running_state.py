"""Products with all steps so far: a state in place of a row with an element for each step."""

from __future__ import annotations

import re

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import DEVICES, Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.tensor.reduction import Max
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.text.text import show
from tempoc.symbolic.walk import symbols
from tests.support.agreement import agree
from tests.support.generators.graphs import assert_close
from tests.support.golden import Golden

HEAD = """dim b < B
dim t < T
const D = 3
input q[b, t]: f32[D]
input k[b, t]: f32[D]
input v[b, t]: f32[D]
"""
WITH_STATE = {
    "scores first": "o = (k[b, 0:t+1] @ q) @ v[b, 0:t+1]\noutput o\n",
    "scores that are normalized, divided and fade": """w = 0.5 ** (t - arange(t+1))
a = q @ (expand_dims(w, 1) * k[b, 0:t+1]).T / 2.0
o = (a @ v[b, 0:t+1]) / (1.0 + sum(a) ** 2)
output o
""",
    "heads whose weights data and powers decide": """input x[b, t]: f32[2, D]
c = tanh(sum(x, axis = 1))
s = einsum("shd,hd->sh", x[b, 0:t+1], x)
w = exp(c - c[b, 0:t+1]) * sigmoid(c[b, 0]) ** expand_dims(t - arange(t+1), 1)
o = einsum("sh,shd->hd", s * w, x[b, 0:t+1])
output o
""",
    "gates": """dim s < T
w[b, t, s] = prod(q[b, s:t+1], axis = 0) when s <= t
o = ((k[b, 0:t+1] * w[b, t, 0:t+1]) @ q) @ v[b, 0:t+1]
output o
""",
    "in a loop, backward, as one product": """o = einsum("d,sd,se->e", q, k[b, t:T], v[b, t:T])
output o
""",
}
GRADIENTS = {
    "of scores first": """o = tanh((k[b, 0:t+1] @ q) @ v[b, 0:t+1])
loss = sum(sum(o)[b = 0:B, t = 0:T])
""",
    "of weights by distances": """c[b, 0] = q[b, 0]
c[b, t] = c[b, t-1] - q[b, t] * q[b, t]
o = tanh(((k[b, 0:t+1] * exp(c - c[b, 0:t+1])) @ q) @ v[b, 0:t+1])
loss = sum(sum(o)[b = 0:B, t = 0:T])
""",
    "of a state": """o = tanh(q @ (k[b, 0:t+1].T @ v[b, 0:t+1]))
loss = sum(sum(o)[b = 0:B, t = 0:T])
""",
}
WITHIN = {
    "a constant for derivatives": """y = 2.0 * v
o = tanh((k[b, 0:t+1] @ q) @ stop_gradient(y[b, 0:t+1]))
dy = grad(sum(sum(o)[b = 0:B, t = 0:T]), y)
output dy
""",
    "keys that are such a constant": """x = 2.0 * k
o = tanh((stop_gradient(x[b, 0:t+1].T).T @ q) @ v[b, 0:t+1])
dx = grad(sum(sum(o)[b = 0:B, t = 0:T]), x)
output dx
""",
    "a factor": """x = q * q
o = tanh((k[b, 0:t+1] @ x) @ v[b, 0:t+1])
dx = grad(sum(sum(o)[b = 0:B, t = 0:T]), x)
output dx
""",
    "weights": """g = 0.5 + 0.1 * tanh(sum(q[0, 0]))
w = g ** (t - arange(t+1))
o = tanh(((k[b, 0:t+1] @ q) * w) @ v[b, 0:t+1])
dw = grad(sum(sum(o)[b = 0:B, t = 0:T]), w) @ v[b, 0:t+1]
output dw
""",
}
WITHIN |= {
    name: f"""c = tanh(sum(q))
z = c - c[b, 0:t+1]
w = exp(z)
o = tanh(((k[b, 0:t+1] @ q) * w) @ v[b, 0:t+1])
d = grad(sum(sum(o)[b = 0:B, t = 0:T]), {by}){then}
output d
"""
    for name, by, then in (
        ("weights by distances", "w", " @ v[b, 0:t+1]"),
        ("distances", "z", " @ v[b, 0:t+1]"),
        ("what has the distances", "c", ""),
    )
}
LEFT = {
    "a state that is too large": "o = (k[b, 0:t+1] @ q) @ v[b, 0:t+1]\noutput o\n",
    "squares of scores": """a = k[b, 0:t+1] @ q
o = (a * a) @ v[b, 0:t+1]
output o
""",
    "scores that others need": """a = k[b, 0:t+1] @ q
o = a @ v[b, 0:t+1] + max(a)
output o
""",
    "windows": """o = (k[b, max(0, t-3):t+1] @ q) @ v[b, max(0, t-3):t+1]
output o
""",
    "bases that differ from point to point": """w = (0.1 * exp(sum(q))) ** (t - arange(t+1))
o = ((k[b, 0:t+1] @ q) * w) @ v[b, 0:t+1]
output o
""",
    "gates of steps before the last": """dim s < T
g = sum(q)
w[b, t, s] = prod(g[b, s+1:t]) when s <= t
o = ((k[b, 0:t+1] @ q) * w[b, t, 0:t+1]) @ v[b, 0:t+1]
output o
""",
    "softmax": "o = exp(k[b, 0:t+1] @ q) @ v[b, 0:t+1]\noutput o\n",
}


def compilation(text: str, options: Options | None = None) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), options or Options(verify_each=True))


def has_rows(graph: Graph) -> bool:
    """Whether an operand has an element for each step so far, but for those of extremes."""
    nodes = (n for n in graph.nodes.values() if not isinstance(n.op, Max))
    shapes = (t.shape for n in nodes for t in operand_types(graph, n))
    return any("t" in symbols(extent) for shape in shapes for extent in shape)


def test_a_state_takes_the_place_of_rows(golden: Golden) -> None:
    parts = []
    for name, text in WITH_STATE.items():
        compiled = compilation(HEAD + text)
        assert has_rows(compiled.graph)
        assert not has_rows(compiled.prepared)
        assert_close(compiled.graph, compiled.prepared)
        body = show(compiled.prepared, sources=False).partition("\n\n")[2]
        said = "".join(f"# {r.message}\n" for r in compiled.later_remarks)
        parts.append(f"## {name}\n\n{body}{said}")
    golden("passes/states.txt", "\n".join(parts))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_recurrences(name: str) -> None:
    ends = "".join(f"d{x} = grad(loss, {x})\n" for x in "qkv") + "output loss, dq, dk, dv\n"
    compiled = compilation(HEAD + GRADIENTS[name] + ends)
    assert not has_rows(compiled.prepared)
    assert_close(compiled.graph, compiled.prepared)


@pytest.mark.parametrize("name", WITHIN)
def test_gradients_by_what_a_product_is_of(name: str) -> None:
    compiled = compilation(HEAD + WITHIN[name])
    assert_close(compiled.graph, compiled.prepared)


@pytest.mark.parametrize("name", LEFT)
def test_what_stays(name: str) -> None:
    size = "D = 300" if "large" in name else "D = 3"
    compiled = compilation(HEAD.replace("D = 3", size) + LEFT[name])
    assert compiled.prepared == compiled.graph


def test_weights_that_overflow_at_some_points() -> None:
    text = """c = 100.0 * f32(t % 2)
o = ((k[b, 0:t+1] @ q) * exp(c - c[0:t+1])) @ v[b, 0:t+1]
y = where(t % 2 == 0, o, 0.0)
output y
"""
    compiled = compilation(HEAD + text)
    assert not has_rows(compiled.prepared)
    assert_close(compiled.graph, compiled.prepared)


def test_where_steps_are_launched_products_stay() -> None:
    text = HEAD + WITH_STATE["scores first"]
    assert has_rows(compilation(text, Options(device=DEVICES[-1])).prepared)


def test_sizes_decide() -> None:
    text = HEAD + WITH_STATE["scores first"]
    assert has_rows(compilation(text, Options(sizes={"B": 2, "T": 8})).prepared)


BASIS = """dim k < K
dim m < M
input a: f32[64, 64]
input start[m]: f32[64]
q[0, m] = start
z = a @ q
rest[k, m] = z[k, m] if m == 0 else z[k, m] - q[k+1, 0:m].T @ (q[k+1, 0:m] @ z[k, m]) when k + 1 < K
q[k+1, m] = rest[k, m] / sqrt(1.0 + rest[k, m] @ rest[k, m])
output q[K-1, 0:M] as vectors
"""
FEEDBACK = """dim l < L
dim t < T
input x[t]: f32[32]
y[0, t] = x
key[l, t] = sin(y[l, t] + out[l, t-1]) if t >= 1 else y[l, t]
out[l, t] = key[l, 0:t+1].T @ (key[l, 0:t+1] @ y[l, t])
y[l+1, t] = tanh(out)
output y[L-1, T-1] as last
"""


def _has_state(text: str) -> bool:
    compiled = Compilation(load_source(Source("m.rt", text)), Options())
    return "to which each step adds" in "".join(r.message for r in compiled.remarks)


def test_a_recurrence_within_steps_of_another_is_taken_to_be_short() -> None:
    assert not _has_state(BASIS)
    assert _has_state(BASIS.replace("m < M", "m < M = 400"))
    alone = BASIS.replace("dim k < K", "dim k < K = 2")
    assert _has_state(alone), "few steps are no loop of its own"
    agree(BASIS, *({"K": k, "M": m} for k, m in ((1, 1), (2, 1), (3, 4))))


def test_a_long_recurrence_of_each_of_a_few_layers_gets_a_state() -> None:
    assert _has_state(FEEDBACK.replace("l < L", "l < L = 4"))
    steps_first = re.sub(r"\[([^,\]]+), ([^\]]+)\]", r"[\2, \1]", FEEDBACK)
    assert _has_state(steps_first.replace("dim l < L\ndim t < T", "dim t < T\ndim l < L"))
