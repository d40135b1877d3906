"""All distances as one array, the diagonal multiplied away."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """How near random points are to each other."""
    random = np.random.default_rng(0)
    n = sizes["N"]
    x = random.standard_normal((n, 3))
    p = np.exp(-((x[:, None] - x) ** 2).sum(-1)) * (1 - np.eye(n))
    start = 0.1 * random.standard_normal((n, 2))
    return {"p": (p / p.sum()).astype(np.float32), "start": start.astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A scan over steps."""

    def cost(y: jax.Array, p: jax.Array) -> jax.Array:
        far = jnp.sum((y[:, None] - y) ** 2, -1)
        q = (1 - jnp.eye(len(y))) / (1.0 + far)
        return jnp.sum(p * (jnp.log(p + 1e-9) - jnp.log(q / q.sum() + 1e-9)))

    def run(given: Tensors) -> Tensors:
        def step(
            state: tuple[jax.Array, jax.Array], _: None
        ) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
            y, v = state
            value, slope = jax.value_and_grad(cost)(y, given["p"])
            v = 0.8 * v - 2.0 * slope
            return (y + v, v), (value, y)

        start = given["start"]
        state = start, jnp.zeros_like(start)
        _, (values, places) = jax.lax.scan(step, state, None, length=sizes["I"])
        return {"cost": values, "y": places[-1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 100, "N": 150}, small={"I": 3, "N": 4})
