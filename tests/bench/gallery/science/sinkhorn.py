"""Iterations in `lax.scan` over the whole matrix of costs, differentiated by `jax.grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Two clouds in the plane."""
    random = np.random.default_rng(0)
    x = random.standard_normal((sizes["N"], 2)).astype(np.float32)
    y = 0.5 * random.standard_normal((sizes["M"], 2)).astype(np.float32) + 1
    return {"x": x, "y": y}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The dual variables are the carry."""
    n, m, eps = sizes["N"], sizes["M"], 0.1

    def total(x: jax.Array, y: jax.Array) -> jax.Array:
        cost = jnp.sum((x[:, None] - y[None]) ** 2, axis=-1)

        def other(f: jax.Array) -> jax.Array:
            return -eps * jax.nn.logsumexp((f[:, None] - cost) / eps, axis=0) - eps * np.log(m)

        def step(f: jax.Array, _: None) -> tuple[jax.Array, None]:
            f = -eps * jax.nn.logsumexp((other(f)[None] - cost) / eps, axis=1) - eps * np.log(n)
            return f, None

        f, _ = jax.lax.scan(step, jnp.zeros(n), length=sizes["K"] - 1)
        plan = jnp.exp((f[:, None] + other(f)[None] - cost) / eps)
        return jnp.sum(plan * cost)

    def run(given: Tensors) -> Tensors:
        value, pull = jax.value_and_grad(total)(given["x"], given["y"])
        return {"total": value, "pull": pull}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"K": 50, "N": 96, "M": 64},
    small={"K": 3, "N": 4, "M": 5},
)
