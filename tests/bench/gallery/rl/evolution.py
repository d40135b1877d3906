"""Both signs of all perturbations under `jax.vmap`, in a scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Perturbations, and where episodes begin."""
    random = np.random.default_rng(0)
    noise = random.standard_normal((sizes["I"], sizes["P"], 12)).astype(np.float32)
    start = random.standard_normal((sizes["I"], 2)).astype(np.float32)
    w0 = (0.3 * random.standard_normal(12)).astype(np.float32)
    return {"noise": noise, "start": start}, {"w0": w0}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """An episode is a scan over time."""
    p = sizes["P"]

    def score(w: jax.Array, start: jax.Array) -> jax.Array:
        def step(x: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            push = jnp.tanh(w[:8].reshape(4, 2) @ x) @ w[8:]
            after = jnp.stack([x[0] + 0.1 * x[1], x[1] + 0.1 * jnp.clip(push, -1.0, 1.0)])
            return after, jnp.sum(x**2)

        return -jnp.mean(jax.lax.scan(step, start, length=sizes["T"])[1])

    def run(given: Tensors) -> Tensors:
        def step(
            state: tuple[jax.Array, tuple[jax.Array, jax.Array]], given: tuple[jax.Array, ...]
        ) -> tuple[tuple[jax.Array, tuple[jax.Array, jax.Array]], tuple[jax.Array, jax.Array]]:
            w, moments = state
            noise, start, i = given
            tried = w + 0.1 * jnp.concatenate([noise, -noise])
            scores = jax.vmap(score, (0, None))(tried, start)
            rank = jnp.argsort(jnp.argsort(scores)) / (2 * p - 1) - 0.5
            slope = (rank[:p] - rank[p:]) @ noise / (p * 0.1)
            after, moments = adam(w, slope, moments, i, -0.05)
            return (after, moments), (jnp.max(scores), w)

        w0 = given["w0"]
        xs = (given["noise"], given["start"], jnp.arange(sizes["I"]))
        _, (best, w) = jax.lax.scan(step, (w0, adam_start(w0)), xs)
        return {"best": best, "policy": w[-1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 40, "P": 64, "T": 50},
    small={"I": 3, "P": 4, "T": 4},
)
