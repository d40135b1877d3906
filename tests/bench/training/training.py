"""A training step of a causal transformer, T = 256, 4 layers of width 128, against `jax.grad`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import ready
from tests.bench.measure import Row, per_step
from tests.bench.training import training_jax

SOURCE = Path(__file__).with_name("training.rt")
STEPS, TEXTS = 256, 4


def training() -> Iterator[Row]:
    """Seconds for one more step of Adam on the same texts."""
    random = np.random.default_rng(0)
    weights = {
        name: (random.standard_normal(shape) / 16 + name.endswith("scale")).astype(np.float32)
        for name, shape in training_jax.shapes().items()
    }
    letters = random.integers(0, training_jax.V, (TEXTS, STEPS + 1)).astype(np.int32)
    texts = {"letter": letters[:, :-1], "next": letters[:, 1:]}
    params = {f"start.{name}": value for name, value in weights.items()}
    program = ready(SOURCE, inputs=texts, params=params)
    device = {name: jnp.array(value) for name, value in weights.items()}
    arrays = [jnp.array(x) for x in texts.values()]

    def ours(steps: int) -> np.ndarray:
        return program(I=steps).outputs["loss"]

    def theirs(steps: int) -> np.ndarray:
        return np.asarray(training_jax.train(device, *arrays, steps=steps))

    np.testing.assert_allclose(ours(3), theirs(3), rtol=1e-3)
    mine, other = per_step(ours, theirs, few=1, many=5, rounds=5)
    name = f"transformer training, {TEXTS} texts of {STEPS}, per step"
    yield Row(name=name, ours=mine, theirs=other)
