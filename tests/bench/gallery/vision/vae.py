"""One step of training in a scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start, layers, mlp, mlp_params


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random pictures of 14 x 14 points."""
    random = np.random.default_rng(0)
    shape = (sizes["I"], sizes["B"])
    x = (random.random((*shape, 196)) < 0.3).astype(np.float32)
    noise = random.standard_normal((*shape, 8)).astype(np.float32)
    encoder = mlp_params(random, "encoder", [196, 128, 16])
    return {"x": x, "noise": noise}, {**encoder, **mlp_params(random, "decoder", [8, 128, 196])}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The whole batch at once."""

    def total(net: Tree, x: jax.Array, noise: jax.Array) -> jax.Array:
        m, s = jnp.split(mlp(net[0], x), 2, -1)
        logits = mlp(net[1], m + jnp.exp(0.5 * s) * noise)
        wrong = jnp.sum(jax.nn.softplus(logits) - logits * x, -1)
        return jnp.mean(wrong + 0.5 * jnp.sum(jnp.exp(s) + m * m - 1.0 - s, -1))

    def run(given: Tensors) -> Tensors:
        def step(state: Tree, given: tuple[jax.Array, ...]) -> tuple[Tree, jax.Array]:
            net, moments = state
            i, x, noise = given
            value, slope = jax.value_and_grad(total)(net, x, noise)
            return adam(net, slope, moments, i, 1e-3), value

        net = layers(given, "encoder"), layers(given, "decoder")
        xs = jnp.arange(sizes["I"]), given["x"], given["noise"]
        return {"total": jax.lax.scan(step, (net, adam_start(net)), xs)[1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 50, "B": 64}, small={"I": 2, "B": 2})
