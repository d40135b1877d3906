"""Functions of the standard library against NumPy, one line of program each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.sdg.interpret import evaluate

STEPS = 3
HEAD = """import nn, loss, rl, sampling
dim t < T
input x[t]: f32[6]
input y[t]: f32[6]
input w: f32[4, 6]
input w2: f32[6, 4]
input b: f32[4]
input b2: f32[6]
input label[t]: i32
"""

Data = dict[str, Any]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def normalized(x: Any) -> Any:
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)


def rope(x: Any) -> Any:
    angle = np.arange(STEPS)[:, None] * 100.0 ** (-np.arange(3) / 3)
    z = (x[:, :3] + 1j * x[:, 3:]) * np.exp(1j * angle)
    return np.concatenate([z.real, z.imag], 1)


def huber(d: Any) -> Any:
    return np.where(np.abs(d) <= 1, 0.5 * d * d, np.abs(d) - 0.5).mean(-1)


CASES: dict[str, tuple[str, Callable[[Data], Any]]] = {
    "softmax": ("nn.softmax(x)", lambda d: softmax(d["x"])),
    "log_softmax": ("nn.log_softmax(x)", lambda d: np.log(softmax(d["x"]))),
    "linear": ("nn.linear(x, w, b)", lambda d: d["x"] @ d["w"].T + d["b"]),
    "mlp": (
        "nn.mlp([{w: w, b: b}, {w: w2, b: b2}], x)",
        lambda d: np.tanh(d["x"] @ d["w"].T + d["b"]) @ d["w2"].T + d["b2"],
    ),
    "mlp_silu": (
        "nn.mlp([{w: w, b: b}, {w: w2, b: b2}], x, act = silu)",
        lambda d: silu(d["x"] @ d["w"].T + d["b"]) @ d["w2"].T + d["b2"],
    ),
    "rms_norm": (
        "nn.rms_norm(x, b2)",
        lambda d: d["x"] / np.sqrt((d["x"] ** 2).mean(-1, keepdims=True) + 1e-5) * d["b2"],
    ),
    "layer_norm": ("nn.layer_norm(x, b2, y)", lambda d: normalized(d["x"]) * d["b2"] + d["y"]),
    "rope": ("nn.rope(x, t, 100.0)", lambda d: rope(d["x"])),
    "swiglu": (
        "nn.swiglu(x, w, 2.0 * w, w2)",
        lambda d: (silu(d["x"] @ d["w"].T) * (2 * d["x"] @ d["w"].T)) @ d["w2"].T,
    ),
    "grouped_attention": (
        "nn.grouped_attention(reshape(x, [1, 3, 2]), reshape(y[0:T], [T * 3, 1, 2]), "
        "reshape(x[0:T], [T * 3, 1, 2]))",
        lambda d: np.stack(
            [
                softmax(x.reshape(3, 2) @ d["y"].reshape(-1, 2).T / 2**0.5) @ d["x"].reshape(-1, 2)
                for x in d["x"]
            ]
        )[:, None],
    ),
    "mse": ("loss.mse(x, y)", lambda d: ((d["x"] - d["y"]) ** 2).mean(-1)),
    "huber": ("loss.huber(x, y)", lambda d: huber(d["x"] - d["y"])),
    "cross_entropy": (
        "loss.cross_entropy(x, label)",
        lambda d: -np.log(softmax(d["x"]))[np.arange(STEPS), d["label"]],
    ),
    "binary_cross_entropy": (
        "loss.binary_cross_entropy(x, sigmoid(y))",
        lambda d: (np.log1p(np.exp(d["x"])) - d["x"] / (1 + np.exp(-d["y"]))).mean(-1),
    ),
    "discounted_sum": (
        "rl.discounted_sum(label[t:T], 0.5)",
        lambda d: [sum(0.5**k * x for k, x in enumerate(d["label"][t:])) for t in range(STEPS)],
    ),
}

DRAWN = """import nn, sampling
dim n < N
input z: f32[5]
greedy[n] = sampling.greedy(z)
temperature[n] = sampling.temperature(z, 0.5)
top_k[n] = sampling.top_k(z, 2)
top_p[n] = sampling.top_p(z, 0.6)
glorot[n] = nn.glorot([3, 5])
he[n] = nn.he([3, 5])
dropped[n] = nn.dropout(ones([4]), 0.25)
rows[n] = sampling.top_p(reshape(concat([z, z - 100. * arange(5)]), [2, 5]), 0.6)
layers[n] = nn.mlp_init([2, 3, 1])
best, beams, tokens = sampling.beam_step(z[0:2], reshape(-arange(6, dtype = f32), [2, 3]), 3)
output greedy, temperature, top_k, top_p, glorot, he, dropped, rows, layers, best, beams, tokens
"""
LOGITS = np.array([0.5, -1, 2, 1.5, -2], np.float32)
DRAWS = 3000


def data() -> Data:
    random = np.random.default_rng(5)
    shapes = {"x": (STEPS, 6), "y": (STEPS, 6), "w": (4, 6), "w2": (6, 4), "b": (4,), "b2": (6,)}
    found: Data = {
        name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }
    found["label"] = np.array([0, 5, 2], np.int32)
    return found


@pytest.mark.parametrize("name", CASES)
def test_function(name: str, tmp_path: Path) -> None:
    expression, wanted = CASES[name]
    file = tmp_path / "model.rt"
    file.write_text(f"{HEAD}result = {expression}\noutput result\n")
    graph = Compilation.from_path(str(file), Options(level=0)).graph
    given = data()
    found = evaluate(graph, {"T": STEPS}, given, {}, float64=True)["result"]
    exact = {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in given.items()}
    np.testing.assert_allclose(found, wanted(exact), rtol=1e-6, atol=1e-9)


def shares(found: Any, probabilities: Any) -> None:
    """The frequencies of choices are these, within three to four standard deviations."""
    counts = np.bincount(found, minlength=len(probabilities)) / len(found)
    np.testing.assert_allclose(counts, probabilities, atol=0.03)
    assert np.all(counts[np.equal(probabilities, 0)] == 0)


def test_random_functions(tmp_path: Path) -> None:
    file = tmp_path / "model.rt"
    file.write_text(DRAWN)
    graph = Compilation.from_path(str(file), Options(level=0)).graph
    found = evaluate(graph, {"N": DRAWS}, {"z": LOGITS}, {}, seed=1)
    p = softmax(LOGITS)
    two = np.where(LOGITS >= 1.5, p, 0)
    assert np.all(found["greedy"] == 2)
    shares(found["temperature"], softmax(LOGITS / 0.5))
    shares(found["top_k"], two / two.sum())
    shares(found["top_p"], two / two.sum())  # the first has 0.5, the two together 0.8
    assert np.all(found["rows"][:, 1] == 0)
    limit = np.sqrt(6 / 8)
    assert np.abs(found["glorot"]).max() <= limit
    assert abs(found["glorot"].var() - limit**2 / 3) < 0.01 and abs(found["glorot"].mean()) < 0.02
    assert abs(found["he"].var() - 2 / 5) < 0.02 and abs(found["he"].mean()) < 0.02
    assert set(np.unique(found["dropped"])) == {0, np.float32(1 / 0.75)}
    assert abs(found["dropped"].mean() - 1) < 0.03
    assert found["layers.0.w"].shape == (DRAWS, 3, 2) and found["layers.1.b"].shape == (DRAWS, 1)
    assert len(np.unique(found["layers.0.w"][0])) == 6
    np.testing.assert_array_equal(found["best"], np.float32([0.5, -0.5, -1.5]))
    np.testing.assert_array_equal(found["beams"], [0, 0, 0])
    np.testing.assert_array_equal(found["tokens"], [0, 1, 2])
