"""Rings in storage order: what is combined with them and in order is rotated, if it is small."""

from __future__ import annotations

import re

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree
from tests.support.session.long import sampled

HEAD = """import nn
dim t < T
const W = 4
const D = 48
input x[t]: f32[D]
input w[t]: f32[W]
input e[t]: f32[2, W]
h[0] = x[0]
h[t] = tanh(x[t] + 0.5 * y[t-1])
"""
TURNED = {
    "a filter": """y[t] = h[t] when t < W - 1
y[t] = w[t] @ h[t-W+1:t+1]
""",
    "a bias for each distance": """s[t] = h[t = max(0, t-W+1):t+1] @ h[t]
n[t] = f32(arange(min(t+1, W))) - f32(min(t+1, W))
y[t] = nn.softmax(s[t] + 0.1 * n[t]) @ h[t = max(0, t-W+1):t+1]
""",
    "a mask": """s[t] = h[t = max(0, t-W+1):t+1] @ h[t]
m[t] = arange(min(t+1, W)) % 2 == t % 2
y[t] = nn.softmax(where(m[t], s[t], -1e9)) @ h[t = max(0, t-W+1):t+1]
""",
    "filters": """y[t] = h[t] when t < W - 1
y[t] = sum(einsum("hs,sd->hd", e[t], h[t-W+1:t+1]), axis = 0)
""",
    "a filter of many numbers": """y[t] = h[t] when t < W - 1
y[t] = sum(expand_dims(w[t], 1) * tanh(h[t-W+1:t+1]), axis = 0)
""",
}
IN_ORDER = {
    "a filter for each number": """y[t] = h[t] when t < W - 1
y[t] = sum(broadcast_to(expand_dims(w[t], 1), [W, D]) * h[t-W+1:t+1], axis = 0)
v[t] = sum(broadcast_to(expand_dims(w[t], 1), [W, D]) * x, axis = 0)
""",
    "sums so far": """y[t] = h[t] when t < W - 1
y[t] = cumsum(h[t-W+1:t+1], axis = 0)[1]
""",
    "a window and its filter of another width": """y[t] = h[t] when t < W - 1
y[t] = w[t] @ h[t-W+1:t+1] + w[t][:2] @ h[t-1:t+1]
""",
    "the last of it": """y[t] = h[t] when t < W - 1
y[t] = (w[t] @ h[t-W+1:t+1]) * max(h[t-W+1:t+1][1:3], axis = 0)
""",
}
END = "z = sum(y * y)\noutput z\n"


def kernels(text: str) -> str:
    options = Options(level=2, verify_each=True)
    return Compilation(load_source(Source("m.rt", text)), options).emitted.kernels


@pytest.mark.parametrize("name", sampled([*TURNED, *IN_ORDER], "more rings", of=2))
def test_rings_mean_the_same(name: str) -> None:
    text = HEAD + (TURNED | IN_ORDER)[name] + END
    agree(text, {"T": 1}, {"T": 3}, {"T": 4}, {"T": 11})


@pytest.mark.parametrize("name", TURNED)
def test_what_is_small_is_turned(name: str) -> None:
    text = kernels(HEAD + TURNED[name] + END)
    assert "jnp.roll(" in text
    assert not re.search(r"jnp\.take\(\s*h", text)


def test_what_is_as_large_as_the_window_stays() -> None:
    text = kernels(HEAD.replace("D = 48", "D = 3") + TURNED["a filter"] + END)
    assert "jnp.roll(" not in text and re.search(r"jnp\.take\(\s*h", text)


def test_points_of_a_batch() -> None:
    text = HEAD.replace("dim t < T", "dim b < B\ndim t < T")
    text = text.replace("x[t]:", "x[b, t]:").replace("w[t]:", "w[b, t]:")
    text = text.replace("h[0] = x[0]", "h[b, 0] = x[b, 0]")
    text = text.replace("h[t] = tanh(x[t] + 0.5 * y[t-1])", "h[b, t] = tanh(x + 0.5 * y[b, t-1])")
    text += "y[b, t] = h[b, t] when t < W - 1\ny[b, t] = w @ h[b, t-W+1:t+1]\n" + END
    agree(text, {"B": 1, "T": 5}, {"B": 3, "T": 11})
    assert "jnp.roll(" in kernels(text)


@pytest.mark.parametrize("combine", ["segment_sum", "segment_max"])
def test_what_is_combined_by_position_has_any_order(combine: str) -> None:
    text = f"""dim t < T
const W = 4
input x[t]: f32[2]
k[t] = i32(floor(9.0 * abs(sin(x[t] + y[t])))) % 3
v[t] = x[t] + y[t]
s[t] = {combine}(v[t = max(0, t-W):t], k[t = max(0, t-W):t][:, 0], 3)
y[t] = sum(sin(maximum(s[t], -1.0)))
output y
"""
    assert "jnp.take(" not in kernels(text)
    agree(text, {"T": 1}, {"T": 2}, {"T": 5}, {"T": 11})
