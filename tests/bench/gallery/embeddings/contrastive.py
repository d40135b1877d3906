"""A matrix of scores, and two cross-entropies of it."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start, layers, mlp, mlp_params


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Examples, each with noise of two kinds."""
    random = np.random.default_rng(0)
    x, one, two = random.standard_normal((3, sizes["I"], sizes["B"], 32))
    inputs = {"one": (x + 0.3 * one), "two": (x + 0.3 * two)}
    return {k: v.astype(np.float32) for k, v in inputs.items()}, mlp_params(
        random, "start", [32, 64, 16]
    )


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Rows are of the first view, columns of the second."""

    def unit(x: jax.Array) -> jax.Array:
        return x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True) + 1e-6)

    def total(net: Tree, one: jax.Array, two: jax.Array) -> jax.Array:
        score = 10.0 * unit(mlp(net, one)) @ unit(mlp(net, two)).T
        right = jnp.diagonal(score)
        across, down = jax.nn.logsumexp(score, 1) - right, jax.nn.logsumexp(score, 0) - right
        return across.mean() + down.mean()

    def run(given: Tensors) -> Tensors:
        def step(state: Tree, given: tuple[jax.Array, ...]) -> tuple[Tree, jax.Array]:
            net, moments = state
            i, one, two = given
            value, slope = jax.value_and_grad(total)(net, one, two)
            return adam(net, slope, moments, i, 1e-3), value

        net = layers(given, "start")
        xs = jnp.arange(sizes["I"]), given["one"], given["two"]
        return {"total": jax.lax.scan(step, (net, adam_start(net)), xs)[1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 50, "B": 128}, small={"I": 2, "B": 3})
