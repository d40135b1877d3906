"""A scan over orders, each a vector of all coefficients."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """How a sum of two damped signals and noise goes along with itself."""
    lag = np.arange(sizes["N"] + 1)
    r = 0.9**lag + 0.3 * 0.5**lag + 0.5 * (lag == 0)
    return {"r": r.astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Coefficients beyond the order are zeros."""
    n = sizes["N"]

    def run(given: Tensors) -> Tensors:
        r, at = given["r"], jnp.arange(n)

        def step(
            state: tuple[jax.Array, jax.Array], m: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            a, error = state
            past = jnp.where(at < m, a * r[jnp.clip(m - at, 0, n)], 0.0)
            k = -(r[m + 1] + jnp.sum(past)) / error
            turned = jnp.where(at < m, a[jnp.clip(m - 1 - at, 0, n - 1)], 0.0)
            return (jnp.where(at == m, k, a + k * turned), error * (1 - k * k)), k

        (coef, err), k = jax.lax.scan(step, (jnp.zeros(n), r[0]), at)
        return {"coef": coef, "err": err, "k": k}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"N": 100}, small={"N": 5})
