"""A scan of rolled arrays, differentiated."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random velocities."""
    u0 = 0.3 * np.random.default_rng(0).standard_normal(sizes["N"])
    return {"u0": u0.astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Energy at the end."""

    def energy(u0: jax.Array) -> jax.Array:
        def step(u: jax.Array, _: None) -> tuple[jax.Array, None]:
            right, left = jnp.roll(u, -1), jnp.roll(u, 1)
            return u - 0.1 * u * (right - left) + 0.1 * (right - 2.0 * u + left), None

        return jnp.sum(jax.lax.scan(step, u0, None, sizes["T"] - 1)[0] ** 2)

    def run(given: Tensors) -> Tensors:
        value, slope = jax.value_and_grad(energy)(given["u0"])
        return {"miss": value, "g": slope}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"T": 500, "N": 512},
    small={"T": 4, "N": 7},
    constants=("N",),
)
