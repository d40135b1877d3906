"""Layers written out, the halves exchanged by hand."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start

SHAPES = {"w": (6, 24), "b": (6, 24), "v": (6, 2, 24), "c": (6, 2)}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Points around zero, and small networks."""
    random = np.random.default_rng(0)
    weights = {
        f"net0.{name}": random.standard_normal(shape).astype(np.float32) / 3
        for name, shape in SHAPES.items()
    }
    return {"x": random.standard_normal((sizes["N"], 2)).astype(np.float32)}, weights


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The likelihood of all points is one function, differentiated in each step of a scan."""

    def run(given: Tensors) -> Tensors:
        def loss(net: Tree) -> jax.Array:
            first, second = given["x"].T
            volume = jnp.zeros(sizes["N"])
            for k in range(6):
                hidden = jnp.tanh(second[:, None] * net["w"][k] + net["b"][k])
                out = hidden @ net["v"][k].T + net["c"][k]
                scale = jnp.tanh(out[:, 0])
                first, second = second, first * jnp.exp(scale) + out[:, 1]
                volume = volume + scale
            return -jnp.mean(volume - 0.5 * (first**2 + second**2) - 1.8378770664)

        def update(state: Tree, step: jax.Array) -> tuple[Tree, jax.Array]:
            net, moments = state
            found, slope = jax.value_and_grad(loss)(net)
            return adam(net, slope, moments, step, 5e-3), found

        net = {name: given[f"net0.{name}"] for name in SHAPES}
        steps = jnp.arange(sizes["I"] - 1)
        (net, _), losses = jax.lax.scan(update, (net, adam_start(net)), steps)
        return {"nll": jnp.append(losses, loss(net)), "v": net["v"]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 12, "N": 256}, small={"I": 3, "N": 4})
"""A normalizing flow of affine couplings (Dinh et al., 2017)."""
