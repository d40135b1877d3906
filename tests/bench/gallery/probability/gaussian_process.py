"""`jnp.linalg.cholesky` and triangular solves, differentiated by `jax.grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A noisy sine."""
    random = np.random.default_rng(0)
    x = np.sort(6 * random.random(sizes["N"])).astype(np.float32)
    y = (np.sin(x) + 0.1 * random.standard_normal(sizes["N"])).astype(np.float32)
    at = np.linspace(0, 6, sizes["Q"]).astype(np.float32)
    return {"x": x, "y": y, "at": at}, {"log_scale": np.float32(0.3)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """With LAPACK below."""
    solve = jax.scipy.linalg.solve_triangular

    def run(given: Tensors) -> Tensors:
        x, y, at = given["x"], given["y"], given["at"]

        def kernel(a: jax.Array, b: jax.Array, log_scale: jax.Array) -> jax.Array:
            return jnp.exp(-0.5 * ((a[:, None] - b[None]) / jnp.exp(log_scale)) ** 2)

        def likelihood(log_scale: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            factor = jnp.linalg.cholesky(kernel(x, x, log_scale) + 0.01 * jnp.eye(sizes["N"]))
            z = solve(factor, y, lower=True)
            value = jnp.sum(-0.5 * z**2 - jnp.log(jnp.diag(factor)))
            return value, (factor, z)

        (value, (factor, z)), slope = jax.value_and_grad(likelihood, has_aux=True)(
            given["log_scale"]
        )
        k = kernel(x, at, given["log_scale"])
        v = solve(factor, k, lower=True)
        return {
            "mean_at": k.T @ solve(factor.T, z, lower=False),
            "var_at": 1.0 - jnp.sum(v**2, axis=0),
            "likelihood": value,
            "slope": slope,
        }

    return run


PAIR = Pair(data=data, twin=twin, sizes={"N": 64, "Q": 32}, small={"N": 5, "Q": 3}, tolerance=5e-3)
