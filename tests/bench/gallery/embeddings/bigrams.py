"""Counts as one scatter of ones."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Texts of 64 different words."""
    random = np.random.default_rng(0)
    return {"text": random.integers(0, 64, (sizes["B"], sizes["T"])).astype(np.int32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A scatter-add, and a gather."""

    def run(given: Tensors) -> Tensors:
        before, after = given["text"][:, :-1], given["text"][:, 1:]
        count = jnp.zeros((64, 64)).at[before, after].add(1.0)
        score = jnp.log(count + 1.0) - jnp.log(count.sum(1, keepdims=True) + 64.0)
        return {"count": count, "log_likelihood": score[before, after].sum(1)}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 8, "T": 512}, small={"B": 2, "T": 5})
"""A language model that counts."""
