"""Training with `jax.value_and_grad` through a scan of Runge-Kutta steps, in a scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start, layers, mlp, mlp_params


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Points, and where a quarter of a turn brings them."""
    random = np.random.default_rng(0)
    x = random.standard_normal((sizes["B"], 2)).astype(np.float32)
    y = np.stack([-x[:, 1], x[:, 0]], axis=1)
    return {"x": x, "y": y}, mlp_params(random, "net0", [2, 32, 2])


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The whole batch in each step."""
    dt = 0.1

    def run(given: Tensors) -> Tensors:
        def loss(net: Tree) -> jax.Array:
            def step(h: jax.Array, _: None) -> tuple[jax.Array, None]:
                k1 = mlp(net, h)
                k2 = mlp(net, h + 0.5 * dt * k1)
                k3 = mlp(net, h + 0.5 * dt * k2)
                k4 = mlp(net, h + dt * k3)
                return h + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

            h, _ = jax.lax.scan(step, given["x"], length=sizes["S"] - 1)
            return jnp.mean(jnp.sum((h - given["y"]) ** 2, axis=1))

        def train(state: tuple[Tree, Tree], i: jax.Array) -> tuple[tuple[Tree, Tree], jax.Array]:
            net, moments = state
            value, slope = jax.value_and_grad(loss)(net)
            return adam(net, slope, moments, i, 1e-2), value

        net = layers(given, "net0")
        _, values = jax.lax.scan(train, (net, adam_start(net)), jnp.arange(sizes["I"]))
        return {"loss": values}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 30, "B": 64, "S": 11},
    small={"I": 3, "B": 4, "S": 4},
)
