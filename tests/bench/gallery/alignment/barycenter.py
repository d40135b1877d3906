"""Diagonals of all tables, one after the other, in a scan that is differentiated."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

GAMMA, FAR = 0.5, 1e9


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Waves that begin at different times."""
    random = np.random.default_rng(0)
    t = np.linspace(0, 6, sizes["N"])
    shift, noise = random.random((sizes["S"], 1)), random.standard_normal((sizes["S"], sizes["N"]))
    x = (np.sin(t + shift) + 0.1 * noise).astype(np.float32)
    return {"x": x, "z0": 0.1 * random.standard_normal(sizes["M"]).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A table is skewed, so that a step takes a row of it."""
    n, m = sizes["N"], sizes["M"]

    def distance(x: jax.Array, z: jax.Array) -> jax.Array:
        column = jnp.arange(n + m - 1)[:, None] - jnp.arange(n)
        inside = (column >= 0) & (column < m)
        table = (x[:, None] - z) ** 2
        rows = jnp.where(inside, table[jnp.arange(n), jnp.clip(column, 0, m - 1)], FAR)

        def step(
            before: tuple[jax.Array, jax.Array], given: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[jax.Array, jax.Array], None]:
            (last, older), (row, here) = before, given
            above = jnp.concatenate([jnp.array([FAR]), last[:-1]])
            corner = jnp.concatenate([jnp.array([FAR]), older[:-1]])
            least = -GAMMA * jax.nn.logsumexp(jnp.stack([above, last, corner]) / -GAMMA, axis=0)
            return (jnp.where(here, row + least, FAR), last), None

        first = jnp.full(n, FAR).at[0].set(rows[0, 0])
        (last, _), _ = jax.lax.scan(step, (first, jnp.full(n, FAR)), (rows[1:], inside[1:]))
        return last[n - 1]

    def run(given: Tensors) -> Tensors:
        def loss(z: jax.Array) -> jax.Array:
            return jnp.mean(jax.vmap(distance, (0, None))(given["x"], z))

        def step(z: jax.Array, _: None) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            value, slope = jax.value_and_grad(loss)(z)
            return z - 0.02 * slope, (value, z)

        _, (losses, tried) = jax.lax.scan(step, given["z0"], length=sizes["K"])
        return {"loss": losses, "z": tried[-1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"K": 20, "S": 8, "N": 60, "M": 50},
    small={"K": 2, "S": 2, "N": 3, "M": 4},
)
"""A mean of series under soft dynamic time warping (Cuturi and Blondel, 2017), by descent."""
