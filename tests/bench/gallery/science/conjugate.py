"""A `lax.while_loop` that carries the residual and its product with the preconditioned one."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Coefficients that vary, at corners of cells, and a right side of noise."""
    random = np.random.default_rng(0)
    m = sizes["M"]
    a = np.exp(0.5 * random.standard_normal((m + 1, m + 1)))
    return {"a": a.astype(np.float32), "b": random.standard_normal((m, m)).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The matrix is never made."""
    State = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        a, b = given["a"], given["b"]
        ax, ay = 0.5 * (a[:-1] + a[1:]), 0.5 * (a[:, :-1] + a[:, 1:])
        west, east, north, south = ax[:, :-1], ax[:, 1:], ay[:-1], ay[1:]
        diagonal = west + east + north + south
        small = 1e-4 * jnp.sqrt(jnp.sum(b * b))

        def product(c: jax.Array) -> jax.Array:
            p = jnp.pad(c, 1)
            along = west * (c - p[1:-1, :-2]) + east * (c - p[1:-1, 2:])
            return along + north * (c - p[:-2, 1:-1]) + south * (c - p[2:, 1:-1])

        def more(state: State) -> jax.Array:
            return (state[4] < sizes["K"] - 1) & (jnp.sqrt(jnp.sum(state[1] ** 2)) >= small)

        def step(state: State) -> State:
            x, r, p, rz, k = state
            q = product(p)
            alpha = rz / jnp.sum(p * q)
            x, r = x + alpha * p, r - alpha * q
            z = r / diagonal
            after = jnp.sum(r * z)
            return x, r, z + after / rz * p, after, k + 1

        z = b / diagonal
        start = jnp.zeros_like(b), b, z, jnp.sum(b * z), jnp.int32(0)
        x, r, _, _, k = jax.lax.while_loop(more, step, start)
        return {"solution": x, "residual": jnp.sqrt(jnp.sum(r * r)), "iterations": k + 1}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"K": 400, "M": 64},
    small={"K": 5, "M": 4},
    constants=["M"],
    tolerance=1e-2,
    in_tests=False,
)
