"""A scan forwards, and one backwards over the numbers of ancestors."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A random walk, seen with noise."""
    random = np.random.default_rng(0)
    t, p = sizes["T"], sizes["P"]
    y = np.cumsum(0.3 * random.standard_normal(t))
    inputs = {"y": y, "noise": random.standard_normal((t, p)), "u": random.random(t)}
    return {k: v.astype(np.float32) for k, v in inputs.items()}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Systematic resampling in each step."""
    p = sizes["P"]

    def run(given: Tensors) -> Tensors:
        def step(
            x: jax.Array, given: tuple[jax.Array, jax.Array, jax.Array]
        ) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
            y, after, u = given
            weight = -0.5 * (y - x) ** 2 / 0.25
            total = jax.nn.logsumexp(weight)
            ladder = jnp.cumsum(jnp.exp(weight - total))
            who = jnp.minimum(jnp.searchsorted(ladder, (jnp.arange(p) + u) / p), p - 1)
            return 0.9 * x[who] + after, (x, who, total)

        def back(path: jax.Array, who: jax.Array) -> tuple[jax.Array, jax.Array]:
            return (here := who[path]), here

        noise = given["noise"]
        xs = given["y"], jnp.roll(noise, -1, 0), given["u"]
        _, (x, who, total) = jax.lax.scan(step, noise[0], xs)
        _, path = jax.lax.scan(back, jnp.arange(p), who, reverse=True)
        track = jnp.take_along_axis(x, path, 1)
        return {"smooth": track.mean(1), "likelihood": jnp.sum(total - jnp.log(p))}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 200, "P": 500}, small={"T": 4, "P": 5})
