"""A particle filter that resamples where too few carry the weight: counts are positions."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

P = 512


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Observations, noise, and where each comb begins."""
    random, steps = np.random.default_rng(0), sizes["T"]
    inputs = {
        "obs": np.abs(random.normal(size=steps) * 6).astype(np.float32),
        "noise": random.normal(size=(steps, P)).astype(np.float32),
        "u": random.uniform(size=steps).astype(np.float32),
    }
    return inputs, {"x0": random.normal(size=P).astype(np.float32)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Particles and the logarithms of their weights are the carry."""

    def step(
        carry: tuple[jax.Array, ...], given: tuple[jax.Array, ...]
    ) -> tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]:
        x, lw = carry
        obs, noise, u, t = given
        prop = 0.5 * x + 25 * x / (1 + x * x) + 8 * jnp.cos(1.2 * t) + 3 * noise
        logw = lw - 0.5 * (obs - prop**2 / 20) ** 2
        total = jax.nn.logsumexp(logw)
        w = jnp.exp(logw - total)
        ess = 1 / jnp.sum(w * w)
        places = jnp.searchsorted(jnp.cumsum(w), (jnp.arange(P) + u) / P)
        few = ess < 0.5 * P
        x = jnp.where(few, prop[jnp.minimum(P - 1, places)], prop)
        rest = jnp.where(few, 0.0, logw - total)
        return (x, rest), (w @ prop, ess, total - jax.nn.logsumexp(lw))

    def filtered(given: Tensors) -> Tensors:
        time = jnp.arange(sizes["T"], dtype=jnp.float32)
        rows = given["obs"], given["noise"], given["u"], time
        _, (mean_x, ess, gains) = lax.scan(step, (given["x0"], jnp.zeros(P)), rows)
        return {"mean_x": mean_x, "ess": ess, "total": gains.sum()}

    return filtered


PAIR = Pair(data=data, twin=twin, sizes={"T": 400}, small={"T": 3}, tolerance=2e-2)
