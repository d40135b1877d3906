"""Both gradients and both optimizers in the step of one scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start, layers, mlp, mlp_params


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Points on a ring, and noise."""
    random = np.random.default_rng(0)
    shape = (sizes["I"], sizes["B"])
    angle = 6.28 * random.random(shape)
    real = np.stack([np.cos(angle), np.sin(angle)], axis=-1).astype(np.float32)
    z = random.standard_normal((*shape, 4)).astype(np.float32)
    g, d = mlp_params(random, "G0", [4, 32, 2]), mlp_params(random, "D0", [2, 32, 1])
    return {"real": real, "z": z}, {**g, **d}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The generator learns from the critic that has just learned."""

    def d_loss(d: Tree, fake: jax.Array, real: jax.Array) -> jax.Array:
        return jnp.mean(jax.nn.softplus(-mlp(d, real)) + jax.nn.softplus(mlp(d, fake)))

    def g_loss(g: Tree, d: Tree, z: jax.Array) -> jax.Array:
        return jnp.mean(jax.nn.softplus(-mlp(d, mlp(g, z))))

    def run(given: Tensors) -> Tensors:
        def step(state: Tree, given: tuple[jax.Array, ...]) -> tuple[Tree, tuple[jax.Array, ...]]:
            g, d, g_moments, d_moments = state
            real, z, i = given
            d_value, slope = jax.value_and_grad(d_loss)(d, mlp(g, z), real)
            d, d_moments = adam(d, slope, d_moments, i, 2e-3, 0.5)
            g_value, slope = jax.value_and_grad(g_loss)(g, d, z)
            g, g_moments = adam(g, slope, g_moments, i, 2e-3, 0.5)
            return (g, d, g_moments, d_moments), (d_value, g_value)

        g, d = layers(given, "G0"), layers(given, "D0")
        xs = (given["real"], given["z"], jnp.arange(sizes["I"]))
        _, (d_values, g_values) = jax.lax.scan(step, (g, d, adam_start(g), adam_start(d)), xs)
        return {"d_loss": d_values, "g_loss": g_values}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 200, "B": 64}, small={"I": 3, "B": 4})
