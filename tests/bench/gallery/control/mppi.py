"""Samples as a batch: a scan over the horizon in a scan over time."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A pendulum that leans, and what is tried."""
    random = np.random.default_rng(0)
    shape = (sizes["T"], sizes["K"], sizes["H"])
    noise = random.standard_normal(shape).astype(np.float32)
    return {"start": np.array([0.8, 0.0], np.float32), "noise": noise}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The plan is shifted by a step each time."""
    dt = 0.05

    def step(x: jax.Array, u: jax.Array) -> jax.Array:
        turn = x[..., 1] + dt * (9.8 * jnp.sin(x[..., 0]) + 5.0 * jnp.clip(u, -2.0, 2.0))
        return jnp.stack([x[..., 0] + dt * x[..., 1], jnp.clip(turn, -8.0, 8.0)], axis=-1)

    def run(given: Tensors) -> Tensors:
        def control(
            state: tuple[jax.Array, jax.Array], noise: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
            x, plan = state
            tried = plan + noise

            def ahead(s: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
                price = (1 - jnp.cos(s[:, 0])) + 0.1 * s[:, 1] ** 2 + 0.01 * u**2
                return step(s, u), price

            start = jnp.broadcast_to(x, (sizes["K"], 2))
            _, prices = jax.lax.scan(ahead, start, tried.T)
            better = jax.nn.softmax(-jnp.sum(prices, axis=0)) @ tried
            after = (step(x, better[0]), jnp.append(better[1:], 0.0))
            return after, (x, better)

        state = (given["start"], jnp.zeros(sizes["H"]))
        _, (x, plans) = jax.lax.scan(control, state, given["noise"])
        return {"x": x, "plan": plans[-1]}

    return run


PAIR = Pair(
    in_tests=True,
    data=data,
    twin=twin,
    sizes={"T": 100, "K": 128, "H": 20},
    small={"T": 3, "K": 4, "H": 3},
)
