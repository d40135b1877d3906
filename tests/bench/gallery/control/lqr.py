"""A scan backwards for the gains, and one forwards for the whole batch."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A system that is not quite stable."""
    random = np.random.default_rng(0)
    a = (np.eye(4) + 0.05 * random.standard_normal((4, 4))).astype(np.float32)
    b = (0.2 * random.standard_normal((4, 2))).astype(np.float32)
    start = random.standard_normal((sizes["B"], 4)).astype(np.float32)
    return {"start": start}, {"A": a, "Bu": b}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Costs are summed on the way."""
    q, r = jnp.eye(4), 0.1 * jnp.eye(2)

    def run(given: Tensors) -> Tensors:
        a, b = given["A"], given["Bu"]

        def riccati(p: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            (c, d), (e, f) = r + b.T @ p @ b
            inverse = jnp.array([[f, -d], [-e, c]]) / (c * f - d * e)
            k = inverse @ b.T @ p @ a
            return q + a.T @ p @ (a - b @ k), k

        steps = sizes["T"] - 1
        _, gains = jax.lax.scan(riccati, q, length=steps, reverse=True)

        def forwards(x: jax.Array, k: jax.Array) -> tuple[jax.Array, jax.Array]:
            u = -x @ k.T
            cost = jnp.sum((x @ q) * x, axis=1) + jnp.sum((u @ r) * u, axis=1)
            return x @ a.T + u @ b.T, cost

        x, costs = jax.lax.scan(forwards, given["start"], gains)
        cost = jnp.sum(costs, axis=0) + jnp.sum((x @ q) * x, axis=1)
        return {"cost": cost, "last": x, "first": gains[0]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 500, "B": 64}, small={"T": 5, "B": 3})
