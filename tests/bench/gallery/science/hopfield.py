"""Neurons one after the other in place, in `lax.fori_loop`, a column of the batch at a time."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Patterns, and copies of them in which a fifth is wrong."""
    random = np.random.default_rng(0)
    n, p, b = sizes["N"], sizes["P"], sizes["B"]
    pattern = np.where(random.random((p, n)) < 0.5, 1.0, -1.0).astype(np.float32)
    wrong = random.random((b, n)) < 0.2
    cue = np.where(wrong, -1.0, 1.0).astype(np.float32) * pattern[np.arange(b) % p]
    return {"pattern": pattern, "cue": cue}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The states are kept as `[N, B]`, so that a neuron is a row."""
    n = sizes["N"]

    def run(given: Tensors) -> Tensors:
        pattern = given["pattern"]
        w = (pattern.T @ pattern) / sizes["P"] * (1 - jnp.eye(n))

        def neuron(turn: jax.Array, s: jax.Array) -> jax.Array:
            k = turn % n
            return s.at[k].set(jnp.where(w[k] @ s >= 0, 1.0, -1.0))

        s = jax.lax.fori_loop(0, (sizes["T"] - 1) * n, neuron, given["cue"].T)
        return {"overlap": pattern @ s / n}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"P": 8, "B": 32, "T": 5, "N": 128},
    small={"P": 2, "B": 3, "T": 3, "N": 5},
)
