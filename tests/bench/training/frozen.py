"""What does not vary with the epoch, written for each epoch: against code that has it outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np

from tempoc.driver.pipelines import O2
from tempoc.pipeline.spec import show_pipeline
from tests.bench.compiled import agree, ready
from tests.bench.measure import Row, in_turns

SOURCE = Path(__file__).parent / "frozen.rt"
EPOCHS = 64


def frozen() -> Iterator[Row]:
    """Seconds for 64 epochs on two frozen layers, width 256, and without `reduce_domain`."""
    random = np.random.default_rng(0)
    size = 256
    data = {
        "x": random.standard_normal((size, size)).astype(np.float32),
        "y": random.standard_normal(size).astype(np.float32),
    }
    weights = {
        name: (random.standard_normal((size, size)) / 16).astype(np.float32)
        for name in ("first", "second")
    }
    without = show_pipeline([step for step in O2 if step.name != "reduce_domain"])
    ours, plain = (
        ready(SOURCE, *options, bounds={"I": EPOCHS}, inputs=data, params=weights)
        for options in ((), ("--passes", without))
    )

    @jax.jit
    def train(x: jax.Array, y: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
        feature = jnp.tanh(jnp.tanh(x @ first.T) @ second.T)

        def miss(w: jax.Array) -> jax.Array:
            return jnp.mean((feature @ w - y) ** 2)

        def epoch(_: int, w: jax.Array) -> jax.Array:
            return w - 0.01 * jax.grad(miss)(w)

        return jax.lax.fori_loop(0, EPOCHS - 1, epoch, jnp.zeros(x.shape[1]))

    device = [jnp.array(a) for a in (*data.values(), *weights.values())]

    def theirs() -> jax.Array:
        return train(*device).block_until_ready()

    agree(lambda: ours().outputs, {"w": np.asarray(theirs())})
    mine, old, other = (median(t) for t in in_turns((ours, plain, theirs), rounds=9))
    yield Row(name=f"{EPOCHS} epochs on frozen features", ours=mine, theirs=other)
    yield Row(name="the same without reduce_domain", ours=old, theirs=other)
