"""Distances by a product of matrices, in `lax.scan`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Clouds around random centers."""
    random = np.random.default_rng(0)
    centers = 3 * random.standard_normal((sizes["K"], 8))
    x = centers[random.integers(sizes["K"], size=sizes["N"])]
    return {"x": (x + random.standard_normal(x.shape)).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Sums of clusters with `one_hot`."""

    def run(given: Tensors) -> Tensors:
        x = given["x"]

        def step(center: jax.Array, _: None) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            far = jnp.sum((x[:, None] - center[None]) ** 2, axis=-1)
            mine = jax.nn.one_hot(jnp.argmin(far, axis=1), sizes["K"])
            count = jnp.sum(mine, axis=0)[:, None]
            moved = jnp.where(count > 0, mine.T @ x / count, center)
            return moved, (jnp.mean(jnp.min(far, axis=1)), center)

        _, (inertia, centers) = jax.lax.scan(step, x[: sizes["K"]], length=sizes["I"])
        return {"inertia": inertia, "centers": centers[-1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 20, "N": 2000, "K": 16},
    small={"I": 3, "N": 9, "K": 3},
    constants=("K",),
)
