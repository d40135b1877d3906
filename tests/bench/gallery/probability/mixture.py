"""Expectation maximization on whole arrays, in `lax.scan`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Clouds, and points of them to start from."""
    random = np.random.default_rng(0)
    k, d = sizes["K"], sizes["D"]
    centers = 3 * random.standard_normal((k, d))
    x = centers[random.integers(k, size=sizes["N"])]
    x = (x + random.standard_normal(x.shape)).astype(np.float32)
    return {"x": x, "start": x[:k].copy()}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Means, variances and shares are the carry."""
    State = tuple[jax.Array, jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        x = given["x"]

        def step(state: State, _: None) -> tuple[State, tuple[jax.Array, jax.Array]]:
            mu, var, pi = state
            far = (x[:, None] - mu) ** 2 / var + jnp.log(var)
            score = jnp.log(pi) - 0.5 * jnp.sum(far, axis=-1)
            r = jax.nn.softmax(score, axis=-1)
            weight = jnp.sum(r, axis=0) + 1e-6
            mu2 = r.T @ x / weight[:, None]
            spread = jnp.einsum("nk,nkd->kd", r, (x[:, None] - mu2) ** 2)
            after = (mu2, spread / weight[:, None] + 1e-3, weight / sizes["N"])
            return after, (jnp.mean(jax.nn.logsumexp(score, axis=-1)), mu)

        k = sizes["K"]
        start = (given["start"], jnp.ones((k, sizes["D"])), jnp.full(k, 1.0 / k))
        _, (likelihood, means) = jax.lax.scan(step, start, length=sizes["I"])
        return {"likelihood": likelihood, "means": means[-1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 30, "N": 1000, "K": 8, "D": 4},
    small={"I": 3, "N": 9, "K": 3, "D": 2},
    constants=("K", "D"),
)
