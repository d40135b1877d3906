"""The programs that learn to write: against optax and NumPy, and whether they learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from safetensors.numpy import load_file

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.examples import ROOT, load
from tests.support.session.long import examples, sampled

FOLDER = ROOT / "examples" / "characters"
pytestmark = pytest.mark.usefixtures("saved_here")
letters = load(FOLDER / "letters.py")
SMALL = {"V": "7", "E": "3", "H": "5", "B": "2"}
Arrays = dict[str, Any]


@pytest.fixture
def saved_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that programs write go to the folder of the test."""
    monkeypatch.chdir(tmp_path)


def compiled(name: str, folder: Path, level: int = 2, **defines: str) -> Compilation:
    """A program of the folder, compiled into `folder / name`."""
    options = Options(level=level, defines=defines)
    compilation = Compilation.from_path(str(FOLDER / f"{name}.rt"), options)
    compilation.write(str(folder / name))
    return compilation


def weights(prefix: str) -> Arrays:
    random = np.random.default_rng(4)
    shapes = {"letters": (7, 3), "cell.w": (15, 3), "cell.u": (15, 5), "cell.b": 15, "cell.c": 15}
    shapes |= {"out.w": (7, 5), "out.b": 7}
    return {
        f"{prefix}.{name}": random.normal(0, 0.5, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def gru(net: Arrays, letter: Any, h: Any) -> Any:
    a = net["letters"][letter] @ net["cell.w"].T + net["cell.b"]
    g = h @ net["cell.u"].T + net["cell.c"]
    (ar, az, an), (gr, gz, gn) = jnp.split(a, 3, -1), jnp.split(g, 3, -1)
    z = jax.nn.sigmoid(az + gz)
    return (1 - z) * jnp.tanh(an + jax.nn.sigmoid(ar + gr) * gn) + z * h


def training(net: Arrays, text: Any, steps: int, length: int) -> list[float]:
    """Truncated backpropagation with optax, as one writes it in JAX."""

    text = jnp.asarray(text)

    def error(net: Arrays, h: Any, step: int) -> Any:
        total = 0.0
        for t in range(length):
            at = (np.arange(2) * (len(text) // 2) + step * length + t) % (len(text) - 1)
            h = gru(net, text[at], h)
            scores = jax.nn.log_softmax(h @ net["out.w"].T + net["out.b"])
            total -= jnp.mean(scores[np.arange(2), text[at + 1]]) / length
        return total, h

    @jax.jit
    def learn(net: Arrays, state: Any, h: Any, step: int) -> Any:
        (loss, h), slope = jax.value_and_grad(error, has_aux=True)(net, h, step)
        update, state = optimizer.update(slope, state)
        return optax.apply_updates(net, update), state, h, loss

    optimizer = optax.adam(5e-3)
    state, h, losses = optimizer.init(net), jnp.zeros((2, 5)), []
    for step in range(steps):
        net, state, h, loss = learn(net, state, h, step)
        losses.append(float(loss))
    return losses


@pytest.mark.parametrize("level", sampled([2, 1], "without optimization", of=2))
@pytest.mark.long("whole training")
def test_training_is_that_of_jax(level: int, tmp_path: Path) -> None:
    graph = compiled("gru", tmp_path, level, **SMALL).graph
    text = np.random.default_rng(2).integers(0, 7, 19).astype(np.int32)
    inputs, params = {"text": text}, weights("start")
    with jax.enable_x64(True):
        net = {k.removeprefix("start."): jnp.asarray(v, jnp.float64) for k, v in params.items()}
        wanted = training(net, text, 4, 3)
    meant = evaluate(graph, {"I": 4, "T": 3, "N": 19}, inputs, params, float64=True)["loss"]
    np.testing.assert_allclose(meant, wanted, rtol=1e-6)
    found = run(str(tmp_path / "gru"), {"I": 4, "T": 3}, inputs, params)
    np.testing.assert_allclose(found.outputs["loss"], wanted, rtol=1e-4)


@pytest.mark.long("more sizes of the examples")
def test_small_bounds(tmp_path: Path) -> None:
    graph = compiled("gru", tmp_path, **SMALL).graph
    inputs, params = {"text": np.array([3, 1], np.int32)}, weights("start")
    for steps, length in ((1, 1), (1, 4), (3, 1)):
        bounds = {"I": steps, "T": length, "N": 2}
        meant = evaluate(graph, bounds, inputs, params)["loss"]
        found = run(str(tmp_path / "gru"), bounds, inputs, params).outputs["loss"]
        np.testing.assert_allclose(found, meant, rtol=1e-4)


def test_writing_likely_letters(tmp_path: Path) -> None:
    """With no heat at all the likeliest letter follows."""
    small = {k: v for k, v in SMALL.items() if k != "B"}
    graph = compiled("write", tmp_path, **small, heat="1e-5").graph
    params, prompt = weights("net"), np.array([3, 1, 4], np.int32)
    net = {k.removeprefix("net."): jnp.asarray(v) for k, v in params.items()}
    for steps in (12, 3)[: examples(1, long=2)]:
        h, row, step = jnp.zeros(5), [*prompt], jax.jit(gru)
        for t in range(steps):
            h = step(net, row[t], h)
            if t + 1 >= len(prompt):
                row.append(int(jnp.argmax(net["out.w"] @ h + net["out.b"])))
        bounds = {"B": 2, "P": 3, "T": steps}
        meant = evaluate(graph, bounds, {"prompt": prompt}, params)["written"]
        found = run(str(tmp_path / "write"), bounds, {"prompt": prompt}, params).outputs["written"]
        np.testing.assert_array_equal(found, meant)
        np.testing.assert_array_equal(found, [row[:steps]] * 2)


@pytest.mark.long("learns to a goal")
def test_it_learns_and_writes(tmp_path: Path) -> None:
    compiled("gru", tmp_path)
    compiled("write", tmp_path)
    text = letters.encode(letters.SONNETS.read_text(encoding="utf-8"))
    bounds, inputs = {"I": 150, "T": 24}, {"text": text}
    loss = run(str(tmp_path / "gru"), bounds, inputs, seed=1).outputs["loss"]
    assert loss[0] > 3.9 and loss[-10:].mean() < 2.3
    params = load_file(tmp_path / "gru.safetensors")
    inputs = {"prompt": letters.encode("Shall I")}
    found = run(str(tmp_path / "write"), {"B": 3, "T": 60}, inputs, params, seed=1)
    lines = [letters.decode(row) for row in found.outputs["written"]]
    assert all(line.startswith("Shall I") for line in lines) and len({*lines}) == 3
    known = {*letters.SONNETS.read_text(encoding="utf-8").split()}
    words = " ".join(line[7:] for line in lines).split()
    assert sum(word in known for word in words) > len(words) / 4
