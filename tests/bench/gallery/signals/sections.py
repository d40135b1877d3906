"""The sections one after the other in one `lax.scan` over the samples."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise, and filters that decay."""
    random = np.random.default_rng(0)
    shape = sizes["C"], sizes["T"]
    numbers = {name: random.standard_normal(shape).astype(np.float32) for name in ("x", "want")}
    a = np.array([[0.2, 0.1], [-0.3, 0.2], [0.1, -0.2]], np.float32)
    return numbers, {"b0": random.standard_normal((3, 3)).astype(np.float32) / 2, "a0": a}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Two numbers of each section are carried."""
    Weights = tuple[jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        x, want = given["x"].T, given["want"].T

        def loss(weights: Weights) -> jax.Array:
            b, a = weights

            def step(states: list[Weights], x: jax.Array) -> tuple[list[Weights], jax.Array]:
                new = []
                for k, (first, second) in enumerate(states):
                    y = b[k, 0] * x + first
                    new.append((b[k, 1] * x - a[k, 0] * y + second, b[k, 2] * x - a[k, 1] * y))
                    x = y
                return new, x

            zero = jnp.zeros(sizes["C"])
            _, y = jax.lax.scan(step, [(zero, zero)] * 3, x)
            return jnp.mean((y - want) ** 2)

        def update(weights: Weights, _: None) -> tuple[Weights, jax.Array]:
            found, (by_b, by_a) = jax.value_and_grad(loss)(weights)
            return (weights[0] - 0.05 * by_b, weights[1] - 0.05 * by_a), found

        start = given["b0"], given["a0"]
        last, losses = jax.lax.scan(update, start, None, sizes["I"] - 1)
        return {"loss": jnp.append(losses, loss(last)), "b": last[0]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 5, "C": 8, "T": 400}, small={"I": 2, "C": 2, "T": 5})
"""A filter whose sections are a dimension, fitted to what it should give."""
