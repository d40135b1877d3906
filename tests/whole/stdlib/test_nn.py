"""Layers and their gradients against JAX: elementwise ones, norms, attention, recurrences."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import rnn

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.symbolic.domain import Domain
from tests.support.session.long import chosen
from tests.whole.stdlib.reference import Case, check, normal

STEPS = 4
Data = dict[str, Any]

PLAIN_HEAD = """import nn
dim t < T
input x[t]: f32[6]
input y[t]: f32[6]
input w: f32[4, 6]
input w2: f32[6, 4]
input b: f32[4]
input b2: f32[6]
input label[t]: i32
"""


SLOWER = np.arange(STEPS)[:, None] * 50.0 ** (-np.arange(3) / 3)


def mlp(d: Data, act: Any) -> Any:
    return act(d["x"] @ d["w"].T + d["b"]) @ d["w2"].T + d["b2"]


def rope(x: Any, theta: float = 100.0) -> Any:
    half = x.shape[-1] // 2
    angle = jnp.arange(len(x))[:, None] * theta ** (-jnp.arange(half) / half)
    angle = angle.reshape(len(x), *(1,) * (x.ndim - 2), half)
    z = (x[..., :half] + 1j * x[..., half:]) * jnp.exp(1j * angle)
    return jnp.concatenate([z.real, z.imag], -1)


def stretched(x: Any) -> Any:
    """Llama 3.1's frequencies, by wavelength and one after the other."""
    half = x.shape[-1] // 2
    speeds = []
    for speed in 100.0 ** (-np.arange(half) / half):
        turns = 60 * speed / (2 * np.pi)
        part = (turns - 1.5) / (3.0 - 1.5)
        between = (1 - part) * speed / 8 + part * speed
        speeds.append(speed / 8 if turns < 1.5 else speed if turns > 3.0 else between)
    angle = (jnp.arange(len(x))[:, None] * jnp.array(speeds)).reshape(
        len(x), *(1,) * (x.ndim - 2), half
    )
    z = (x[..., :half] + 1j * x[..., half:]) * jnp.exp(1j * angle)
    return jnp.concatenate([z.real, z.imag], -1)


def group_norm(d: Data) -> Any:
    by_group = jnp.concatenate([d["x"], d["y"]], 1).reshape(-1, 3, 2, 2)
    normed = jax.nn.standardize(by_group, (1, 3), epsilon=1e-5).reshape(-1, 3, 4)
    return normed * d["b"] + 2


def norm(x: Any) -> Any:
    return jax.nn.standardize(x, epsilon=1e-5)


PLAIN: dict[str, Case] = {
    "softmax": ("nn.softmax(x)", lambda d: jax.nn.softmax(d["x"])),
    "softmax_axis": (
        "nn.softmax(reshape(x, [2, 3]), axis = 0)",
        lambda d: jax.nn.softmax(d["x"].reshape(-1, 2, 3), 1),
    ),
    "log_softmax": ("nn.log_softmax(20. * x)", lambda d: jax.nn.log_softmax(20 * d["x"])),
    "leaky_relu": ("nn.leaky_relu(x, 0.1)", lambda d: jax.nn.leaky_relu(d["x"], 0.1)),
    "leaky_relu_steep": ("nn.leaky_relu(x, 2.5)", lambda d: jax.nn.leaky_relu(d["x"], 2.5)),
    "elu": ("nn.elu(20. * x)", lambda d: jax.nn.elu(20 * d["x"])),
    "linear": ("nn.linear(x, w, b)", lambda d: d["x"] @ d["w"].T + d["b"]),
    "linear_rows": (
        "nn.linear(stack([x, y]), w, b)",
        lambda d: jnp.stack([d["x"], d["y"]], 1) @ d["w"].T + d["b"],
    ),
    "mlp": ("nn.mlp([{w: w, b: b}, {w: w2, b: b2}], x)", lambda d: mlp(d, jnp.tanh)),
    "mlp_silu": (
        "nn.mlp([{w: w, b: b}, {w: w2, b: b2}], x, act = silu)",
        lambda d: mlp(d, jax.nn.silu),
    ),
    "rms_norm": (
        "nn.rms_norm(x, b2)",
        lambda d: d["x"] / jnp.sqrt((d["x"] ** 2).mean(-1, keepdims=True) + 1e-5) * d["b2"],
    ),
    "layer_norm": ("nn.layer_norm(x, b2, y)", lambda d: norm(d["x"]) * d["b2"] + d["y"]),
    "group_norm": ("nn.group_norm(reshape(concat([x, y]), [3, 4]), b, 2.0, 2)", group_norm),
    "embedding": ("nn.embedding(w2, label)", lambda d: d["w2"][d["label"]]),
    "sinusoid": (
        "nn.sinusoid(t, 6, 50.0)",
        lambda d: jnp.concatenate([f(SLOWER) for f in (jnp.sin, jnp.cos)], 1),
    ),
    "rope": ("nn.rope(x, t, 100.0)", lambda d: rope(d["x"])),
    "stretched": ("nn.rope(x, t, 100.0, 8.0, 1.5, 3.0, 60)", lambda d: stretched(d["x"])),
    "swiglu": (
        "nn.swiglu(x, w, 2.0 * w, w2)",
        lambda d: (jax.nn.silu(d["x"] @ d["w"].T) * (2 * d["x"] @ d["w"].T)) @ d["w2"].T,
    ),
}


def test_plain() -> None:
    shapes = {"x": (STEPS, 6), "y": (STEPS, 6), "w": (4, 6), "w2": (6, 4), "b": (4,), "b2": (6,)}
    given = normal(5, shapes) | {"label": np.array([0, 5, 2, 2], np.int32)}
    check(PLAIN_HEAD, PLAIN, {"T": STEPS}, given, by="" if chosen["long"] else "x w")


ATTENTION_HEAD = """import nn
dim t < T
input x[t]: f32[8]
input y[t]: f32[8]
input q: f32[8, 8]
input k: f32[8, 8]
input v: f32[8, 8]
input out: f32[8, 8]
input s: f32[8]
"""
LAYER = "{q: q, k: k, v: v, out: out}"
Q, K = "reshape(x, [2, 4])", "reshape(y[0:t+1], [t + 1, 2, 4])"


def self_attention(d: Data, window: int | None = None, theta: float = 0.0) -> Any:
    """Two heads."""
    return attend(d, d["x"], window, theta)


def attend(d: Data, x: Any, window: int | None = None, theta: float = 0.0) -> Any:
    q, k, v = ((x @ d[n].T).reshape(-1, 2, 4) for n in "qkv")
    if theta:
        q, k = rope(q, theta), rope(k, theta)
    past = None if window is None else (window - 1, 0)
    found = jax.nn.dot_product_attention(q, k, v, is_causal=True, local_window_size=past)
    return found.reshape(-1, 8) @ d["out"].T


def transformer(d: Data) -> Any:
    h = d["x"] + attend(d, norm(d["x"]) * d["s"], theta=10.0)
    hidden = jax.nn.gelu((norm(h) + d["s"]) @ d["k"].T, approximate=False)
    return h + hidden @ d["v"].T + d["s"]


ATTENTION: dict[str, Case] = {
    "attention": (
        "nn.attention(x, y[0:t+1], y[0:t+1])",
        lambda d: jax.nn.dot_product_attention(*(d[n][:, None] for n in "xyy"), is_causal=True)[
            :, 0
        ],
    ),
    "multi_head_attention": (
        f"nn.multi_head_attention({Q}, {K}, {K})",
        lambda d: jax.nn.dot_product_attention(
            *(d[n].reshape(-1, 2, 4) for n in "xyy"), is_causal=True
        ),
    ),
    "grouped_attention": (
        "nn.grouped_attention(reshape(x, [2, 2, 2]), reshape(concat([(x)[4:8], y]), [3, 2, 2]), "
        "reshape(concat([y, (x)[0:4]]), [3, 2, 2]))",
        lambda d: jax.nn.dot_product_attention(
            d["x"].reshape(-1, 1, 4, 2),
            jnp.concatenate([d["x"][:, 4:], d["y"]], 1).reshape(-1, 3, 2, 2),
            jnp.concatenate([d["y"], d["x"][:, :4]], 1).reshape(-1, 3, 2, 2),
        ).reshape(-1, 2, 2, 2),
    ),
    "self_attention": (f"nn.self_attention(x, {LAYER}, t, 2)", self_attention),
    "window": (
        f"nn.self_attention(x, {LAYER}, t, 2, window = 2)",
        lambda d: self_attention(d, 2),
    ),
    "turned": (
        f"nn.self_attention(x, {LAYER}, t, 2, window = 3, theta = 10.0)",
        lambda d: self_attention(d, 3, 10.0),
    ),
    "transformer": (
        "nn.transformer_block(x, {first: {scale: s, bias: 0.0}, attention: "
        f"{LAYER}, second: {{scale: 1.0, bias: s}}, "
        "mlp: [{w: k, b: 0.0}, {w: v, b: s}]}, t, 2, theta = 10.0)",
        transformer,
    ),
}


def test_attention() -> None:
    shapes: dict[str, tuple[int, ...]] = {"x": (STEPS, 8), "y": (STEPS, 8), "s": (8,)}
    shapes |= dict.fromkeys(("q", "k", "v", "out"), (8, 8))
    # JAX computes these softmaxes with 32 bits.
    by = "" if chosen["long"] else "x y"
    check(ATTENTION_HEAD, ATTENTION, {"T": STEPS}, normal(6, shapes), by=by, atol=5e-5)


RECURRENT_HEAD = """import nn
dim b < B
dim t < T
input x[b, t]: f32[3]
input w: f32[8, 3]
input u: f32[8, 2]
input c: f32[8]
input s: f32[2]
input w3: f32[6, 3]
input u3: f32[6, 2]
input c3: f32[6]
def run(x, cell, dim t) { h, c = nn.lstm(x, cell, t); return concat([h, c]) }
def go(x, cell, s, dim t) { h, c = nn.lstm(x, cell, t, s, memory = 2.0 * s); return concat([h, c]) }
"""


def lstm(d: Data, h0: Any, c0: Any) -> Any:
    """JAX's LSTM says what the last states are: those of each prefix."""
    batch, found = len(d["x"]), []
    for n in range(1, STEPS + 1):
        zero = {0: jnp.zeros_like(d["c"])}
        start = [jnp.broadcast_to(v, (1, batch, 2)) for v in (h0, c0)]
        weights = {0: d["w"]}, {0: d["u"]}, {0: d["c"]}, zero
        lengths = jnp.full(batch, n, jnp.int32)
        _, h, c = rnn.lstm_ref(d["x"][:, :n], *start, *weights, lengths, 3, 2, 1, 0.0, False)
        found.append(jnp.concatenate([h[0], c[0]], -1))
    return jnp.stack(found, 1)


def gru(d: Data, start: Any) -> Any:
    """As PyTorch describes it."""

    def step(h: Any, x: Any) -> Any:
        a, g = x @ d["w3"].T + d["c3"], h @ d["u3"].T + 2 * d["c3"]
        r, z = jax.nn.sigmoid(a[:, :2] + g[:, :2]), jax.nn.sigmoid(a[:, 2:4] + g[:, 2:4])
        h = (1 - z) * jnp.tanh(a[:, 4:] + r * g[:, 4:]) + z * h
        return h, h

    begin = jnp.broadcast_to(start, (len(d["x"]), 2))
    return jnp.swapaxes(jax.lax.scan(step, begin, jnp.swapaxes(d["x"], 0, 1))[1], 0, 1)


LSTM = "{w: w, u: u, b: c}"
GRU = "{w: w3, u: u3, b: c3, c: 2.0 * c3}"
RECURRENT: dict[str, Case] = {
    "lstm": (f"run(x, {LSTM}, t)", lambda d: lstm(d, jnp.zeros(2), jnp.zeros(2))),
    "lstm_from": (
        f"go(x, {LSTM}, s, t)",
        lambda d: lstm(d, d["s"], 2 * d["s"]),
    ),
    "gru": (f"nn.gru(x, {GRU}, t)", lambda d: gru(d, jnp.zeros(2))),
    "gru_from": (f"nn.gru(x, {GRU}, t, state = s)", lambda d: gru(d, d["s"])),
}


@pytest.mark.long("all of a family: examples have an LSTM and a GRU")
def test_recurrent() -> None:
    shapes = {"x": (2, STEPS, 3), "w": (8, 3), "u": (8, 2), "c": (8,), "s": (2,)}
    shapes |= {"w3": (6, 3), "u3": (6, 2), "c3": (6,)}
    check(RECURRENT_HEAD, RECURRENT, {"B": 2, "T": STEPS}, normal(7, shapes))


def test_gru_is_one_step() -> None:
    """The first step is one of the recurrence: equations that differ for it are compiled twice."""
    text = f"{RECURRENT_HEAD}h = nn.gru(x, {GRU}, t, state = s)\noutput h\n"
    graph = Compilation(load_source(Source("m.rt", text)), Options(level=0)).graph
    products = [n for n in graph.nodes.values() if n.name.endswith("g.matmul")]
    assert [n.domain for n in products] == [Domain(("b", "t"))]
