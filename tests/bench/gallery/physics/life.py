"""The field as one array, padded by wrapping, in `lax.scan`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A third of the cells live."""
    random = np.random.default_rng(0)
    shape = (sizes["H"], sizes["W"])
    return {"start": (random.random(shape) < 0.35).astype(np.int32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Neighbours are counted with a separable sum."""

    def run(given: Tensors) -> Tensors:
        def step(g: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            three = jnp.roll(g, 1, 0) + g + jnp.roll(g, -1, 0)
            n = jnp.roll(three, 1, 1) + three + jnp.roll(three, -1, 1) - g
            g = ((n == 3) | ((n == 2) & (g == 1))).astype(jnp.int32)
            return g, jnp.sum(g)

        start = given["start"]
        final, alive = jax.lax.scan(step, start, length=sizes["T"] - 1)
        return {"alive": jnp.concatenate([jnp.sum(start)[None], alive]), "final": final}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"T": 400, "H": 64, "W": 64},
    small={"T": 4, "H": 5, "W": 6},
    constants=("H", "W"),
)
