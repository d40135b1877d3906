"""Sketches and comparisons as whole arrays."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sets with common words."""
    random = np.random.default_rng(0)
    words = random.integers(0, 200, (sizes["N"], 64)).astype(np.int32)
    a, c = random.integers(1, 8191, (2, sizes["H"])).astype(np.int32)
    return {"words": words}, {"a": a, "c": c}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Everything at once."""

    def run(given: Tensors) -> Tensors:
        words = given["words"]
        sketch = ((words[:, None] * given["a"][:, None] + given["c"][:, None]) % 8191).min(2)
        alike = (sketch[:, None] == sketch).mean(2)
        closest = jnp.argmax(alike - jnp.eye(len(words)), 1)
        return {"sketch": sketch, "alike": alike, "closest": closest}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"N": 256, "H": 64}, small={"N": 4, "H": 3}, in_tests=False)
