"""Sweeps in a loop within a scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

N = 96


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A source, and how strong it is."""
    random = np.random.default_rng(0)
    f = random.standard_normal((N, N)).astype(np.float32)
    return {"f": f, "w": random.random(sizes["T"]).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The zeros around a grid are padded in each sweep."""

    def shifted(z: jax.Array) -> jax.Array:
        g = jnp.pad(z, 1)
        return g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:]

    def run(given: Tensors) -> Tensors:
        def step(u: jax.Array, w: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            source = w * given["f"]
            new = jax.lax.fori_loop(
                0, 12, lambda _, v: v + 0.8 * (0.25 * (shifted(v) + source) - v), u
            )
            return new, (jnp.mean(u**2), u)

        _, (norm, states) = jax.lax.scan(step, jnp.zeros((N, N)), given["w"])
        return {"norm": norm, "u": states[-1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 200}, small={"T": 2}, in_tests=True)
"""Damped Jacobi, whose sweeps the program writes out one after the other."""
