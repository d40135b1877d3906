"""The transformer that learns to write, against JAX with masks and a whole axis of time."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.examples import ROOT
from tests.support.session.long import examples

FOLDER = ROOT / "examples" / "characters"
SMALL = {"V": "7", "D": "8", "heads": "2", "layers": "1", "window": "3", "B": "2"}
Arrays = dict[str, Any]


@pytest.fixture(autouse=True)
def saved_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that programs write go to the folder of the test."""
    monkeypatch.chdir(tmp_path)


def compiled(name: str, folder: Path, also: str = "", **defines: str) -> Any:
    """A program of the folder with one line more, compiled into `folder / name`; its graph."""
    shutil.copy(FOLDER / "transformer.rt", folder)
    path = folder / f"{name}.rt"
    path.write_text((FOLDER / path.name).read_text(encoding="utf-8") + also)
    compilation = Compilation.from_path(str(path), Options(defines=SMALL | defines))
    compilation.write(str(folder / name))
    return compilation.graph


def weights(prefix: str) -> Arrays:
    random = np.random.default_rng(6)
    shapes: dict[str, Any] = {"letters": (7, 8), "last.scale": 8, "last.bias": 8}
    block: dict[str, Any] = {f"attention.{name}": (8, 8) for name in ("q", "k", "v", "out")}
    block |= {"mlp.0.w": (16, 8), "mlp.0.b": 16, "mlp.1.w": (8, 16), "mlp.1.b": 8}
    block |= {f"{norm}.{part}": 8 for norm in ("first", "second") for part in ("scale", "bias")}
    shapes |= {f"blocks.0.{name}": shape for name, shape in block.items()}
    return {
        f"{prefix}.{name}": random.normal(0, 0.4, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def norm(net: Arrays, name: str, x: Any) -> Any:
    d = x - x.mean(-1, keepdims=True)
    scaled = d / jnp.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
    return scaled * net[f"{name}.scale"] + net[f"{name}.bias"]


def rotated(x: Any) -> Any:
    """`x: [T, heads, 4]`, as complex numbers."""
    angle = np.arange(len(x))[:, None, None] * 10000.0 ** (-np.arange(2) / 2)
    z = (x[..., :2] + 1j * x[..., 2:]) * np.exp(1j * angle)
    return jnp.concatenate([z.real, z.imag], -1)


def logits(net: Arrays, letter: Any) -> Any:
    """For one text: `letter: [T]` -> `[T, 7]`."""
    x = net["letters"][letter]
    seen = norm(net, "blocks.0.first", x)
    q, k, v = (
        (seen @ net[f"blocks.0.attention.{n}"].T).reshape(len(x), 2, 4) for n in ("q", "k", "v")
    )
    ago = np.subtract.outer(np.arange(len(x)), np.arange(len(x)))
    scores = jnp.einsum("thd,shd->hts", rotated(q), rotated(k)) / 2
    share = jax.nn.softmax(jnp.where((ago >= 0) & (ago < 3), scores, -jnp.inf), -1)
    past = jnp.einsum("hts,shd->thd", share, v).reshape(len(x), 8)
    x = x + past @ net["blocks.0.attention.out"].T
    h = norm(net, "blocks.0.second", x) @ net["blocks.0.mlp.0.w"].T + net["blocks.0.mlp.0.b"]
    h = jax.nn.gelu(h, approximate=False)
    x = x + h @ net["blocks.0.mlp.1.w"].T + net["blocks.0.mlp.1.b"]
    return norm(net, "last", x) @ net["letters"].T


def training(net: Arrays, text: Any, places: Any, length: int) -> list[float]:
    def error(net: Arrays, passages: Any) -> Any:
        scores = jax.nn.log_softmax(jax.vmap(logits, (None, 0))(net, passages[:, :-1]))
        return -jnp.mean(jnp.take_along_axis(scores, passages[:, 1:, None], 2))

    @jax.jit
    def learn(net: Arrays, state: Any, passages: Any) -> Any:
        loss, slope = jax.value_and_grad(error)(net, passages)
        update, state = optimizer.update(slope, state)
        return optax.apply_updates(net, update), state, loss

    optimizer = optax.adam(optax.linear_schedule(0.0, 5e-3, 20))  # its cosine begins later
    state, losses = optimizer.init(net), []
    for place in places:
        passages = text[place[:, None] + np.arange(length + 1)]
        net, state, loss = learn(net, state, passages)
        losses.append(float(loss))
    return losses


@pytest.mark.long("a whole network: test_nn has its parts")
def test_training_is_that_of_jax(tmp_path: Path) -> None:
    graph = compiled("learn", tmp_path, "output place\n")
    text = np.random.default_rng(2).integers(0, 7, 30).astype(np.int32)
    inputs, params = {"text": text}, weights("start")
    for steps, length in ((5, 5), (1, 1)):
        bounds = {"I": steps, "T": length, "N": 30}
        meant = evaluate(graph, bounds, inputs, params, seed=3, float64=True)
        found = run(str(tmp_path / "learn"), bounds, inputs, params, seed=3).outputs
        np.testing.assert_array_equal(found["place"], meant["place"])
        np.testing.assert_allclose(found["loss"], meant["loss"], rtol=1e-3)
        if steps > 1:
            with jax.enable_x64(True):
                net = {k.removeprefix("start."): jnp.float64(v) for k, v in params.items()}
                wanted = training(net, text, meant["place"], length)
            np.testing.assert_allclose(meant["loss"], wanted, rtol=1e-6)


@pytest.mark.long("a whole network: that of test_characters.py writes as well")
def test_writing_likely_letters(tmp_path: Path) -> None:
    """With no heat at all the likeliest letter follows."""
    graph = compiled("recite", tmp_path, heat="1e-5")
    params, prompt = weights("net"), np.array([3, 1, 4], np.int32)
    net = {k.removeprefix("net."): jnp.asarray(v) for k, v in params.items()}
    row, likely = [*prompt], jax.jit(logits)
    while len(row) < 9:
        full = np.array([*row, *[0] * (9 - len(row))])  # nobody looks at what comes later
        row.append(int(jnp.argmax(likely(net, full)[len(row) - 1])))
    for steps in (9, 3)[: examples(1, long=2)]:
        bounds = {"P": 3, "T": steps}
        meant = evaluate(graph, bounds, {"prompt": prompt}, params)["written"]
        found = run(str(tmp_path / "recite"), bounds, {"prompt": prompt}, params).outputs["written"]
        np.testing.assert_array_equal(found, meant)
        np.testing.assert_array_equal(found, [row[:steps]] * 2)
