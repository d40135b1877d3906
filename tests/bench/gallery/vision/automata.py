"""A scan over time, differentiated in a scan over training."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A disc, and a grid with one cell that lives."""
    random = np.random.default_rng(0)
    h = sizes["H"]
    seed = np.zeros((h, h, 8), np.float32)
    seed[h // 2, h // 2] = 1
    far = np.hypot(*(np.mgrid[:h, :h] - h / 2))
    goal = np.repeat((far < h / 4)[..., None], 4, -1).astype(np.float32)
    filters = (0.1 * random.standard_normal((3, 3, 8, 32))).astype(np.float32)
    w = (0.1 * random.standard_normal((32, 8))).astype(np.float32)
    return {"goal": goal, "seed": seed}, {"filters": filters, "w": w}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The convolution is JAX's."""

    def total(net: Tree, seed: jax.Array, goal: jax.Array) -> jax.Array:
        def step(x: jax.Array, _: None) -> tuple[jax.Array, None]:
            around = jax.lax.conv_general_dilated(
                x[None], net["filters"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            return x + 0.1 * (jax.nn.relu(around[0]) @ net["w"]), None

        x = jax.lax.scan(step, seed, None, length=sizes["T"] - 1)[0]
        return jnp.mean((x[..., :4] - goal) ** 2)

    def run(given: Tensors) -> Tensors:
        def learn(state: Tree, i: jax.Array) -> tuple[Tree, jax.Array]:
            net, moments = state
            value, slope = jax.value_and_grad(total)(net, given["seed"], given["goal"])
            return adam(net, slope, moments, i, 2e-3), value

        net = {key: given[key] for key in ("filters", "w")}
        return {"total": jax.lax.scan(learn, (net, adam_start(net)), jnp.arange(sizes["I"]))[1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 10, "T": 16, "H": 24},
    small={"I": 2, "T": 3, "H": 5},
    constants=("H",),
)
