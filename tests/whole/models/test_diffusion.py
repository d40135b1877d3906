"""The diffusion example: against optax and NumPy on its own draws, and whether it makes moons."""

from __future__ import annotations

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
from tests.support.session.long import sampled

SOURCE = ROOT / "examples" / "diffusion" / "moons.rt"
SMALL = {"batch": "6", "samples": "4", "hidden": "5", "eta": "0.0"}
Arrays = dict[str, Any]


@pytest.fixture(autouse=True)
def saved_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that programs write go to the folder of the test."""
    monkeypatch.chdir(tmp_path)


def direction(net: Any, x: Any, angle: Any) -> Any:
    wave = angle[:, None] * np.array([1, 2, 4, 8])
    h = jnp.concatenate([x, jnp.sin(wave), jnp.cos(wave)], 1)
    for layer in net[:-1]:
        h = jax.nn.silu(h @ layer["w"].T + layer["b"])
    return h @ net[-1]["w"].T + net[-1]["b"]


def training(net: Any, draws: Arrays) -> tuple[Any, list[float]]:
    """The trained network and the errors on the way to it."""
    steps = len(draws["level"])

    def error(net: Any, i: int) -> Any:
        clean, noise, level = (jnp.asarray(draws[n])[i] for n in ("clean", "noise", "level"))
        c, d = jnp.cos(level)[:, None], jnp.sin(level)[:, None]
        found = direction(net, c * clean + d * noise, level)
        return jnp.mean((found - c * noise + d * clean) ** 2)

    def step(net: Any, state: Any, i: int) -> Any:
        loss, slope = jax.value_and_grad(error)(net, i)
        update, state = optimizer.update(slope, state)
        return optax.apply_updates(net, update), state, loss

    optimizer = optax.adam(optax.cosine_decay_schedule(1e-2, steps))
    state, losses, after = optimizer.init(net), [], net
    for i in range(steps):
        net = after
        after, state, loss = jax.jit(step)(net, state, i)
        losses.append(float(loss))
    return net, losses


def sampling(net: Any, x: Any, levels: int) -> list[Any]:
    """Song et al., equation 12, without noise."""
    found = [x]
    for s in range(levels - 1, 0, -1):
        high, low = (0.5 * np.pi * level / levels for level in (s, s - 1))
        v = jax.jit(direction)(net, x, np.full(len(x), high))
        point = np.cos(high) * x - np.sin(high) * v
        x = np.cos(low) * point + np.sin(low) * (x - np.cos(high) * point) / np.sin(high)
        found.append(x)
    return found[::-1]


@pytest.mark.parametrize(
    ("level", "steps", "levels"),
    sampled([(2, 4, 3), (2, 1, 1), (1, 3, 5)], "more sizes and levels", of=3),
)
@pytest.mark.long("whole training")
def test_it_is_what_jax_says(level: int, steps: int, levels: int, tmp_path: Path) -> None:
    path = tmp_path / "moons.rt"
    path.write_text(SOURCE.read_text(encoding="utf-8") + "output clean, noise, level\n")
    compilation = Compilation.from_path(str(path), Options(level=level, defines=SMALL))
    compilation.write(str(tmp_path / "out"))
    random, bounds = np.random.default_rng(3), {"I": steps, "S": levels}
    sizes = [(5, 10), (5, 5), (5, 5), (2, 5)]
    net = [{"w": random.normal(0, 0.5, s), "b": random.normal(0, 0.5, s[0])} for s in sizes]
    params = {f"start.{k}.{p}": net[k][p].astype(np.float32) for k in range(4) for p in "wb"}
    meant = evaluate(compilation.graph, bounds, {}, params, seed=5, float64=True)
    with jax.enable_x64(True):
        given = [{p: jnp.float64(params[f"start.{k}.{p}"]) for p in "wb"} for k in range(4)]
        trained, losses = training(given, meant)
        wanted = {"loss": losses, "x": sampling(trained, meant["x"][-1], levels)}
    found = run(str(tmp_path / "out"), bounds, {}, params, seed=5).outputs
    for name, value in wanted.items():
        np.testing.assert_allclose(meant[name], value, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4)


@pytest.mark.long("learns to a goal")
def test_it_makes_moons(tmp_path: Path) -> None:
    Compilation.from_path(str(SOURCE), Options()).write(str(tmp_path / "out"))
    x = run(str(tmp_path / "out"), {"I": 1200, "S": 40}, {}, {}, seed=2).outputs["x"]
    assert x.shape == (40, 512, 2)
    assert np.median(off(x[-1])) > 0.3  # noise
    assert np.median(off(x[0])) < 0.1 and np.mean(off(x[0]) > 0.5) < 0.05
    assert 0.3 < np.mean(x[0, :, 1] > 0) < 0.7  # some on either


def off(x: Any) -> Any:
    """How far points are from the two half circles."""
    center = np.array([1, 0.5])
    ways = []
    for point in (center + x, center - x):
        ends = np.minimum(*(np.hypot(point[:, 0] - end, point[:, 1]) for end in (2, -2)))
        ways.append(np.where(point[:, 1] > 0, np.abs(np.hypot(*point.T) - 2), ends))
    return np.minimum(*ways)
