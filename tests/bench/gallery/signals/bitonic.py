"""A scan over all pairs of a block and a distance."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """As many numbers as the network sorts."""
    random = np.random.default_rng(0)
    return {"x": random.standard_normal(sizes["N"]).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Each number meets the one whose position differs in one bit."""
    n = jnp.arange(sizes["N"])
    steps = [(p, q) for p in range(sizes["P"]) for q in range(p + 1)]

    def run(given: Tensors) -> Tensors:
        def step(y: jax.Array, at: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            block = 2 << at[0]
            other = n ^ (block >> (at[1] + 1))
            rising = n & block == 0
            least = rising == (n < other)
            return jnp.where(least, jnp.minimum(y, y[other]), jnp.maximum(y, y[other])), None

        blocks, distances = zip(*steps, strict=True)
        y, _ = jax.lax.scan(step, given["x"], (jnp.array(blocks), jnp.array(distances)))
        return {"sorted": y}

    return run


PAIR = Pair(
    data=data, twin=twin, sizes={"P": 9, "N": 512}, small={"P": 3, "N": 8}, constants=("P", "N")
)
