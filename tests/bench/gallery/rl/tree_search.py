"""A scan over simulations, within it one down the tree, and `.at[path].add`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

DEPTH, NODES, LEAVES = 6, 127, 64
Tables = tuple[jax.Array, jax.Array]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """What leaves are worth, and noise of the rollouts."""
    random = np.random.default_rng(0)
    noise = random.standard_normal(sizes["S"]).astype(np.float32)
    return {"noise": noise}, {"value": random.random(LEAVES).astype(np.float32)}


def descend(tables: Tables) -> tuple[jax.Array, jax.Array]:
    """The leaf that UCT leads to, and the nodes above it."""
    visits, total = tables

    def bound(at: jax.Array, child: jax.Array, fresh: float) -> jax.Array:
        count = jnp.maximum(visits[child], 1.0)
        width = 1.4 * jnp.sqrt(jnp.log(visits[at] + 1.0) / count)
        return jnp.where(visits[child] > 0.0, total[child] / count + width, fresh)

    def step(at: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        left = 2 * at + 1
        goes_left = bound(at, left, 1e6) >= bound(at, left + 1, 1e6 - 1.0)
        return jnp.where(goes_left, left, left + 1), at

    return jax.lax.scan(step, jnp.int32(0), length=DEPTH)


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Both tables are carries."""

    def run(given: Tensors) -> Tensors:
        def simulate(
            tables: Tables, noise: jax.Array
        ) -> tuple[Tables, tuple[jax.Array, jax.Array]]:
            leaf, above = descend(tables)
            reward = given["value"][leaf - LEAVES + 1] + 0.1 * noise
            path = jnp.append(above, leaf)
            after = tables[0].at[path].add(1.0), tables[1].at[path].add(reward)
            return after, (leaf, tables[0])

        start = jnp.zeros(NODES), jnp.zeros(NODES)
        _, (best, visits) = jax.lax.scan(simulate, start, given["noise"])
        return {"best": best, "share": visits[-1] / sizes["S"]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"S": 500}, small={"S": 9})
