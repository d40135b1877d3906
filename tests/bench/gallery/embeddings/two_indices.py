"""A gather with two index arrays, and its scatter."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Words in eight groups, with targets."""
    random = np.random.default_rng(0)
    shape = sizes["B"], sizes["T"]
    inputs = {
        "group": random.integers(0, 8, shape).astype(np.int32),
        "word": random.integers(0, 1000, shape).astype(np.int32),
        "target": random.standard_normal((*shape, 32)).astype(np.float32),
    }
    return inputs, {"w": random.standard_normal((8, 1000, 32)).astype(np.float32)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """`w[group, word]` on whole arrays."""

    def cost(w: jax.Array, given: Tensors) -> jax.Array:
        return jnp.mean((jnp.tanh(w[given["group"], given["word"]]) - given["target"]) ** 2)

    def run(given: Tensors) -> Tensors:
        loss, slope = jax.value_and_grad(cost)(given["w"], given)
        return {"loss": loss, "tuned": given["w"] - 10.0 * slope}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 64, "T": 128}, small={"B": 2, "T": 3})
"""Fine-tuning of embeddings that two tensors of integers select."""
