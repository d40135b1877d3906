"""Oscillators with their own stiffness, each with its own number of steps, counted by a sum."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

TOL, END = 1e-4, 6.0


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Stiffness and a start for each oscillator."""
    random, count = np.random.default_rng(0), sizes["B"]
    mu = random.uniform(0.5, 8, count).astype(np.float32)
    return {"mu": mu, "start": random.normal(size=(count, 2)).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A mapped `while_loop`: it ends with the last oscillator."""

    def solved(mu: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
        def f(y: jax.Array) -> jax.Array:
            return jnp.stack([y[1], mu * (1 - y[0] * y[0]) * y[1] - y[0]])

        def step(carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            y, time, h, k, n, _ = carry
            hh = jnp.minimum(h, END - time)
            k1 = f(y)
            k2 = f(y + 0.5 * hh * k1)
            k3 = f(y + 0.75 * hh * k2)
            new = y + hh * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
            err = hh * (-5 / 72 * k1 + 1 / 12 * k2 + 1 / 9 * k3 - 1 / 8 * f(new))
            scale = TOL + TOL * jnp.maximum(jnp.abs(y), jnp.abs(new))
            ratio = jnp.sqrt(jnp.mean((err / scale) ** 2))
            ok = ratio <= 1
            time = jnp.where(ok, time + hh, time)
            h = hh * jnp.clip(0.9 * (ratio + 1e-10) ** (-1 / 3), 0.2, 5.0)
            return jnp.where(ok, new, y), time, h, k + 1, n + ok, time >= END - 1e-6

        begin = (start, jnp.float32(0), jnp.float32(0.01), 0, 0, False)
        last = lax.while_loop(lambda c: (c[3] < sizes["K"]) & ~c[5], step, begin)
        return last[0], last[4]

    def all_solved(given: Tensors) -> Tensors:
        final, steps = jax.vmap(solved)(given["mu"], given["start"])
        return {"final": final, "steps": steps.astype(jnp.int32)}

    return all_solved


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"B": 256, "K": 5000},
    small={"B": 2, "K": 100},
    tolerance=5e-2,
)
