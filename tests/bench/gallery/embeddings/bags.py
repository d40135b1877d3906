"""Embedding bags as a gather with a mask, and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Texts of different lengths, padded."""
    random = np.random.default_rng(0)
    size, most = sizes["B"], sizes["K"]
    inputs = {
        "word": random.integers(0, 5000, (size, most)).astype(np.int32),
        "count": random.integers(0, most + 1, size).astype(np.int32),
        "label": random.integers(0, 10, size).astype(np.int32),
    }
    return inputs, {
        "table": random.standard_normal((5000, 64)).astype(np.float32),
        "out": random.standard_normal((10, 64)).astype(np.float32),
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One gather; its gradient is one scatter."""

    def cost(table: jax.Array, out: jax.Array, given: Tensors) -> jax.Array:
        there = jnp.arange(sizes["K"]) < given["count"][:, None]
        rows = jnp.where(there[..., None], table[given["word"]], 0.0)
        bag = rows.sum(1) / jnp.maximum(given["count"], 1)[:, None]
        score = jax.nn.log_softmax(bag @ out.T)
        return -jnp.mean(jnp.take_along_axis(score, given["label"][:, None], 1))

    def run(given: Tensors) -> Tensors:
        value, slopes = jax.value_and_grad(cost, argnums=(0, 1))(
            given["table"], given["out"], given
        )
        return {"cost": value, "by_table": slopes[0], "by_out": slopes[1]}

    return run


PAIR = Pair(in_tests=True, data=data, twin=twin, sizes={"B": 256, "K": 64}, small={"B": 3, "K": 4})
"""A bag-of-words classifier with gradients of its table."""
