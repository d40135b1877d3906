"""A scan over samples, of vectors with a place for each length of a run."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise whose mean changes once."""
    random = np.random.default_rng(0)
    x = random.standard_normal(sizes["T"]) + 3 * (np.arange(sizes["T"]) >= sizes["T"] // 2)
    return {"x": x.astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """What is known of a run moves by one place with each sample."""
    n = sizes["T"]

    def run(given: Tensors) -> Tensors:
        k = jnp.arange(n)
        kappa, alpha = 1.0 + k, 1.0 + 0.5 * k
        df = 2.0 * alpha
        State = tuple[jax.Array, jax.Array, jax.Array]

        def moved(first: float | jax.Array, x: jax.Array) -> jax.Array:
            return jnp.concatenate([jnp.reshape(first, (1,)), x[:-1]])

        def step(state: State, x: jax.Array) -> tuple[State, jax.Array]:
            r, mu, beta = state
            scale = beta * (kappa + 1) / (alpha * kappa)
            p = (1 + (x - mu) ** 2 / (df * scale)) ** (-(df + 1) / 2) / jnp.sqrt(df * scale)
            raw = r * p
            change = jnp.sum(raw) / 50
            z = change + jnp.sum(raw) * (1 - 1 / 50)
            new = moved(change / z, raw * (1 - 1 / 50) / z)
            later = beta + kappa * (x - mu) ** 2 / (2 * (kappa + 1))
            mean = (kappa * mu + x) / (kappa + 1)
            return (new, moved(0.0, mean), moved(1.0, later)), jnp.argmax(r)

        start = (jnp.zeros(n).at[0].set(1.0), jnp.zeros(n), jnp.ones(n))
        return {"best": jax.lax.scan(step, start, given["x"])[1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 200}, small={"T": 5})
