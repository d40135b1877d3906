"""The plate as one array, with slices of it, in `lax.scan`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A plate with random spots."""
    random = np.random.default_rng(0)
    return {"start": random.standard_normal((sizes["H"], sizes["W"])).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The inner part is computed from slices and padded with the rim."""

    def run(given: Tensors) -> Tensors:
        def step(u: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u = jnp.pad(u[1:-1, 1:-1] + 0.2 * (around - 4 * u[1:-1, 1:-1]), 1)
            return u, jnp.sum(u)

        start = given["start"]
        final, warmth = jax.lax.scan(step, start, length=sizes["T"] - 1)
        return {"warmth": jnp.concatenate([jnp.sum(start)[None], warmth]), "final": final}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"T": 500, "H": 128, "W": 128},
    small={"T": 4, "H": 5, "W": 6},
)
