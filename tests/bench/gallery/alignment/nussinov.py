"""A scan over rows from the last to the first, which are put into a matrix."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

N = 80


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random bases, and what their pairs are worth."""
    random = np.random.default_rng(0)
    score = np.zeros((4, 4), np.float32)
    for i, j, worth in ((0, 3, 2), (1, 2, 3), (2, 3, 1)):
        score[i, j] = score[j, i] = worth
    base = random.integers(0, 4, (sizes["S"], N)).astype(np.int32)
    return {"base": base, "score": score}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One sequence, mapped."""

    def run(given: Tensors) -> Tensors:
        def folded(base: jax.Array) -> jax.Array:
            def step(below: jax.Array, i: jax.Array) -> tuple[jax.Array, None]:
                after = below[i + 1]
                inner = jnp.concatenate([jnp.zeros(1), after])[:N]
                paired = inner + given["score"][base[i], base]
                paired = jnp.where(jnp.arange(N) - i > 3, paired, -1e9)
                both = jnp.max(paired[:, None] + below[1:], 0)
                row = jnp.where(jnp.arange(N) > i, jnp.maximum(after, both), 0.0)
                return below.at[i].set(row), None

            start = jnp.zeros((N + 1, N))
            return jax.lax.scan(step, start, jnp.arange(N), reverse=True)[0][0]

        best = jax.vmap(folded)(given["base"])
        return {"total": best[:, N - 1], "best": best}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"S": 16}, small={"S": 2}, in_tests=True)
