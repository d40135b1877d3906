"""Loads as an array, things as a `lax.scan`, and back as another one."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

Thing = tuple[jax.Array, jax.Array]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Things of which eight or more fit."""
    random = np.random.default_rng(0)
    heaviest = max(1, sizes["W"] // 8)
    value = random.random(sizes["N"]).astype(np.float32)
    weight = random.integers(1, heaviest + 1, sizes["N"]).astype(np.int32)
    return {"value": value, "weight": weight}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Whether a thing is taken is kept for each load, and read on the way back."""
    loads = jnp.arange(sizes["W"])

    def add(best: jax.Array, thing: Thing) -> tuple[jax.Array, jax.Array]:
        value, weight = thing
        taken = jnp.where(loads >= weight, best[jnp.maximum(loads - weight, 0)] + value, -jnp.inf)
        return jnp.maximum(best, taken), taken > best

    def back(load: jax.Array, thing: Thing) -> tuple[jax.Array, jax.Array]:
        took, weight = thing
        return load - jnp.where(took[load], weight, 0), took[load]

    def run(given: Tensors) -> Tensors:
        things = given["value"], given["weight"]
        best, took = jax.lax.scan(add, jnp.zeros(sizes["W"]), things)
        last = jnp.asarray(sizes["W"] - 1)
        _, took = jax.lax.scan(back, last, (took, given["weight"]), reverse=True)
        return {"total": best[-1], "took": took}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"N": 200, "W": 5000}, small={"N": 5, "W": 11})
"""The things to take, where each load reads one that depends on a weight."""
