"""A scan over the steps, with a loop of Newton's steps in each, under `vmap`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

H = 0.05
Oscillator = tuple[jax.Array, jax.Array]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """How stiff each oscillator is."""
    return {"mu": np.linspace(1, 5, sizes["B"], dtype=np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One oscillator, mapped."""

    def one(mu: jax.Array) -> jax.Array:
        def step(start: Oscillator, _: None) -> tuple[Oscillator, jax.Array]:
            y, z = start

            def newton(_: int, state: Oscillator) -> Oscillator:
                u, v = state
                r1 = u - y - H * v
                r2 = v - z - H * (mu * (1 - u**2) * v - u)
                a = H * (2 * mu * u * v + 1)
                d = 1 - H * mu * (1 - u**2)
                det = d + H * a
                return u - (d * r1 + H * r2) / det, v - (r2 - a * r1) / det

            return jax.lax.fori_loop(0, 4, newton, start), y

        start = jnp.float32(2.0), jnp.float32(0.0)
        return jax.lax.scan(step, start, length=sizes["T"])[1]

    return lambda given: {"y": jax.vmap(one)(given["mu"])}


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"B": 64, "T": 1000},
    small={"B": 2, "T": 3},
    tolerance=1e-2,
)
