"""The walks as arrays, and the values of all of them gathered at once."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A random world of four actions."""
    random = np.random.default_rng(0)
    states = sizes["S"]
    return {
        "next": random.integers(0, states, (states, 4)).astype(np.int32),
        "reward": random.standard_normal((states, 4)).astype(np.float32),
    }, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One scan lengthens the walks, one improves the values."""
    Pairs = tuple[jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        after, reward, actions = given["next"], given["reward"], jnp.arange(4)

        def longer(walk: Pairs, steps: jax.Array) -> tuple[Pairs, Pairs]:
            place, gain = walk
            more = 0.95 ** (steps + 1.0) * reward[place, actions]
            return (after[place, actions], gain + more), walk

        lengths = jnp.arange(sizes["L"])
        _, (place, gain) = jax.lax.scan(longer, (after, reward), lengths)
        weight = 0.95 ** (lengths + 1.0)[:, None, None]

        def step(values: Pairs, _: None) -> tuple[Pairs, jax.Array]:
            v = values[0]
            best = jnp.max(gain + weight * v[place], axis=(0, 2))
            return (best, v), jnp.max(jnp.abs(best - v))

        zeros = jnp.zeros(sizes["S"])
        (_, v), change = jax.lax.scan(step, (zeros, zeros), length=sizes["K"])
        return {"v": v, "change": change}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"K": 100, "L": 6, "S": 2000},
    small={"K": 3, "L": 2, "S": 5},
    in_tests=False,
)
