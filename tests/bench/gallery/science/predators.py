"""Reverse mode through a scan of Runge-Kutta steps."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noisy observations."""
    random = np.random.default_rng(0)
    start = random.uniform(0.5, 1.5, (sizes["B"], 1, 2))
    seen = start + 0.1 * random.standard_normal((sizes["B"], sizes["T"], 2))
    rates = np.array([1.0, 0.8, 0.6, 0.7], np.float32)
    return {"seen": seen.astype(np.float32)}, {"start": rates}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """All populations at once, `x: [2, B]`."""
    dt = 0.05

    def rise(x: jax.Array, w: jax.Array) -> jax.Array:
        met = x[0] * x[1]
        return jnp.stack([w[0] * x[0] - w[1] * met, w[2] * met - w[3] * x[1]])

    def total(w: jax.Array, seen: jax.Array) -> jax.Array:
        def step(x: jax.Array, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
            k1 = rise(x, w)
            k2 = rise(x + 0.5 * dt * k1, w)
            k3 = rise(x + 0.5 * dt * k2, w)
            k4 = rise(x + dt * k3, w)
            return x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), jnp.sum((x - seen) ** 2)

        _, wrong = jax.lax.scan(step, seen[0], seen)
        return wrong.sum() / (sizes["B"] * sizes["T"])

    def run(given: Tensors) -> Tensors:
        seen = given["seen"].transpose(1, 2, 0)

        def learn(state: Tree, i: jax.Array) -> tuple[Tree, tuple[jax.Array, jax.Array]]:
            w, moments = state
            value, slope = jax.value_and_grad(total)(w, seen)
            return adam(w, slope, moments, i, 1e-2), (value, w)

        w = given["start"]
        _, (values, ws) = jax.lax.scan(learn, (w, adam_start(w)), jnp.arange(sizes["I"]))
        return {"total": values, "rates": ws[-1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 20, "B": 16, "T": 100},
    small={"I": 2, "B": 2, "T": 3},
)
