"""`jnp.linalg`, differentiated by `jax.value_and_grad`, in one `lax.scan` over steps."""

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
    y = (np.sin(2 * x) + 0.3 * random.standard_normal(sizes["N"])).astype(np.float32)
    at = np.linspace(0, 6, sizes["Q"]).astype(np.float32)
    return {"x": x, "y": y, "at": at, "start": np.array([0.0, -0.3, -1.5], np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """With LAPACK below."""
    triangular = jax.scipy.linalg.solve_triangular
    eye = jnp.eye(sizes["N"])

    def kernel(a: jax.Array, b: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.exp(w[0] - 0.5 * ((a[:, None] - b[None]) / jnp.exp(w[1])) ** 2)

    def run(given: Tensors) -> Tensors:
        x, y, at = given["x"], given["y"], given["at"]

        def parts(w: jax.Array) -> tuple[jax.Array, jax.Array]:
            factor = jnp.linalg.cholesky(kernel(x, x, w) + jnp.exp(w[2]) * eye)
            return factor, triangular(factor, y, lower=True)

        def loss(w: jax.Array) -> jax.Array:
            factor, z = parts(w)
            return 0.5 * jnp.sum(z**2) + jnp.sum(jnp.log(jnp.diag(factor)))

        def step(w: jax.Array, _: None) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            value, slope = jax.value_and_grad(loss)(w)
            return w - 0.01 * slope, (value, w)

        _, (losses, ws) = jax.lax.scan(step, given["start"], length=sizes["I"])
        factor, z = parts(ws[-1])
        v = triangular(factor, kernel(x, at, ws[-1]), lower=True)
        return {
            "loss": losses,
            "mean_at": v.T @ z,
            "var_at": jnp.exp(ws[-1][0]) - jnp.sum(v**2, axis=0),
        }

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 50, "N": 128, "Q": 32},
    small={"I": 3, "N": 6, "Q": 3},
    constants=("N", "Q"),
    tolerance=5e-3,
)
