"""A loop over layers around a `lax.scan` over steps of Adam."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Points and three layers."""
    random = np.random.default_rng(0)
    return {"x": random.standard_normal((sizes["N"], 48)).astype(np.float32)}, {
        "start.w": random.standard_normal((3, 48, 48)).astype(np.float32) / 7,
        "start.b": np.zeros((3, 48), np.float32),
        "start.c": np.zeros((3, 48), np.float32),
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Adam by hand in a scan of steps, a scan of layers around it."""

    def cost(net: Tensors, h: jax.Array) -> jax.Array:
        again = jnp.tanh(h @ net["w"].T + net["b"]) @ net["w"] + net["c"]
        return jnp.mean((again - h) ** 2)

    def run(given: Tensors) -> Tensors:
        def layer(h: jax.Array, net: Tensors) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            zeros = jax.tree.map(jnp.zeros_like, net)

            def step(
                state: tuple[Tensors, Tensors, Tensors], i: jax.Array
            ) -> tuple[tuple[Tensors, Tensors, Tensors], jax.Array]:
                net, m, v = state
                loss, slope = jax.value_and_grad(cost)(net, h)
                m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, slope)
                v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, slope)
                first, second = 1.0 - 0.9 ** (i + 1.0), 1.0 - 0.999 ** (i + 1.0)
                net = jax.tree.map(
                    lambda w, m, v: w - 3e-3 * (m / first) / (jnp.sqrt(v / second) + 1e-8),
                    net,
                    m,
                    v,
                )
                return (net, m, v), loss

            state = net, zeros, zeros
            (net, _, _), losses = jax.lax.scan(step, state, jnp.arange(sizes["I"] - 1))
            loss = jnp.append(losses, cost(net, h))
            return jnp.tanh(h @ net["w"].T + net["b"]), (loss, net["w"])

        nets = {name: given[f"start.{name}"] for name in "wbc"}
        _, (loss, learned) = jax.lax.scan(layer, given["x"], nets)
        return {"loss": loss, "learned": learned}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"N": 256, "I": 50}, small={"N": 4, "I": 3})
"""Layers that are trained one after the other."""
