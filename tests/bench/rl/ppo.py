"""An iteration of PPO, 512 carts for 250 steps, networks of 2 x 64, against PureJaxRL's form,
and CleanRL's where torch is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import ready
from tests.bench.measure import Row, per_step
from tests.bench.peers import peer
from tests.bench.rl import ppo_jax
from tests.bench.rl.carts import CARTS, FOLDER, STEPS, environment, weights

SOURCE = Path(__file__).with_name("ppo.rt")


def ppo() -> Iterator[Row]:
    """Seconds for one more iteration."""
    carts, given = environment("cartpole"), weights(ppo_jax.shapes())
    params = {f"start.{name}": value for name, value in given.items()}
    bounds = {"B": CARTS, "T": STEPS}
    program = ready(SOURCE, bounds=bounds, params=params, extern_path=[FOLDER])
    device = {name: jnp.array(value) for name, value in given.items()}
    key = jax.random.key(0)

    def ours(iterations: int) -> np.ndarray:
        return program(I=iterations).outputs["fallen"]

    def theirs(iterations: int) -> np.ndarray:
        found = ppo_jax.train(device, key, carts, iterations, CARTS, STEPS)
        return np.asarray(found[1])

    # Both draw their own numbers; that they learn alike shows in how rarely carts fall.
    np.testing.assert_allclose(ours(10).mean(), theirs(10).mean(), rtol=0.1)
    mine, other = per_step(ours, theirs, few=1, many=6, rounds=5)
    yield Row(name=f"PPO, {CARTS} carts for {STEPS} steps, per iteration", ours=mine, theirs=other)
    if (ppo_torch := peer("rl.ppo_torch", "torch")) is None:
        return

    def eager(iterations: int) -> np.ndarray:
        return np.array(ppo_torch.train(given, iterations, CARTS, STEPS)[1])

    np.testing.assert_allclose(ours(10).mean(), eager(10).mean(), rtol=0.1)
    mine, other = per_step(ours, eager, few=1, many=4, rounds=3)
    yield Row(name="PPO, to torch in CleanRL's form, per iteration", ours=mine, theirs=other)
