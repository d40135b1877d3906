"""The cell in a scan over time, in a scan over iterations."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start

N, M = 48, 5


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noisy waves."""
    random = np.random.default_rng(0)
    phase = np.arange(sizes["T"])[:, None] / 5 + random.random(sizes["B"]) * 6
    x = np.sin(phase) + 0.1 * random.standard_normal(phase.shape)
    shapes = {"w": (3 * N, 1), "u": (3 * N, N), "b": (3 * N,), "c": (3 * N,)}
    params = {f"cell0.{k}": 0.2 * random.standard_normal(shape) for k, shape in shapes.items()}
    params["head0"] = 0.2 * random.standard_normal((3 * M, N))
    return {"x": x.astype(np.float32)}, {k: v.astype(np.float32) for k, v in params.items()}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """`jax.value_and_grad` of a scan."""

    def run(given: Tensors) -> Tensors:
        x = given["x"]

        def cost(w: Tree) -> jax.Array:
            def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
                a = jnp.split(x[:, None] @ w["w"].T + w["b"], 3, -1)
                g = jnp.split(h @ w["u"].T + w["c"], 3, -1)
                r, z = jax.nn.sigmoid(a[0] + g[0]), jax.nn.sigmoid(a[1] + g[1])
                h = (1.0 - z) * jnp.tanh(a[2] + r * g[2]) + z * h
                return h, h

            _, h = jax.lax.scan(step, jnp.zeros((x.shape[1], N)), x[:-1])
            weight, mean, log_deviation = jnp.split(h @ w["head"].T, 3, -1)
            scaled = (x[1:, :, None] - mean) * jnp.exp(-log_deviation)
            parts = jax.nn.log_softmax(weight) - 0.5 * scaled**2 - log_deviation - 0.9189385
            return -jax.nn.logsumexp(parts, -1).mean()

        def train(state: Tree, i: jax.Array) -> tuple[Tree, Tree]:
            w, moments = state
            value, slope = jax.value_and_grad(cost)(w)
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(slope)))
            slope = jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), slope)
            return adam(w, slope, moments, i, 1e-2), (value, w["head"])

        w = {name: given[f"cell0.{name}"] for name in ("w", "u", "b", "c")}
        w["head"] = given["head0"]
        _, (value, head) = jax.lax.scan(train, (w, adam_start(w)), jnp.arange(sizes["I"]))
        return {"cost": value, "head": head[-1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 20, "T": 64, "B": 32},
    small={"I": 2, "T": 4, "B": 3},
    in_tests=False,
)
