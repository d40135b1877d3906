"""One `lax.scan` over time with `searchsorted` for the teeth of the comb."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A path of the model, and the noise of all particles."""
    random = np.random.default_rng(0)
    steps = sizes["T"]
    x, seen = 0.0, []
    for t in range(steps):
        x = 0.5 * x + 25 * x / (1 + x * x) + 8 * np.cos(1.2 * t) + random.standard_normal()
        seen.append(x * x / 20 + 0.7 * random.standard_normal())
    noise = random.standard_normal((steps, sizes["N"])).astype(np.float32)
    u = random.random(steps).astype(np.float32)
    return {"y": np.array(seen, np.float32), "noise": noise, "u": u}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Particles and their weights are the carry."""
    n = sizes["N"]

    def run(given: Tensors) -> Tensors:
        def weigh(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            log_w = -0.5 * ((y - x**2 / 20) / 0.7) ** 2
            w = jax.nn.softmax(log_w)
            return w, jnp.sum(w * x), jax.nn.logsumexp(log_w) - np.log(n)

        def step(
            state: tuple[jax.Array, jax.Array], given: tuple[jax.Array, ...]
        ) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
            x, w = state
            y, noise, u, t = given
            which = jnp.searchsorted(jnp.cumsum(w), (jnp.arange(n) + u) / n)
            x = x[jnp.minimum(which, n - 1)]
            x = 0.5 * x + 25 * x / (1 + x**2) + 8 * jnp.cos(1.2 * t) + noise
            w, mean, score = weigh(x, y)
            return (x, w), (mean, score)

        y, noise, u = given["y"], given["noise"], given["u"]
        w, mean, score = weigh(noise[0], y[0])
        t = jnp.arange(1, sizes["T"], dtype=jnp.float32)
        _, (means, scores) = jax.lax.scan(step, (noise[0], w), (y[1:], noise[1:], u[:-1], t))
        return {
            "mean_x": jnp.concatenate([mean[None], means]),
            "likelihood": score + jnp.sum(scores),
        }

    return run


PAIR = Pair(
    in_tests=True,
    data=data,
    twin=twin,
    sizes={"T": 200, "N": 256},
    small={"T": 5, "N": 8},
    constants=("N",),
)
