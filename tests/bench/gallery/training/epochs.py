"""Epochs of batches with `jax.value_and_grad` and Adam, as a scan in a scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start

INPUTS, HIDDEN, LABELS = 64, 128, 10


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Batches of points with labels, and weights to start from."""
    random = np.random.default_rng(0)
    many = sizes["K"], sizes["B"]
    x = random.standard_normal((*many, INPUTS)).astype(np.float32)
    label = np.argmax(x @ random.standard_normal((INPUTS, LABELS)), axis=-1)
    params = {
        "w0": random.standard_normal((HIDDEN, INPUTS)) / 8,
        "b0": np.zeros(HIDDEN),
        "v0": random.standard_normal((LABELS, HIDDEN)) / 11,
        "c0": np.zeros(LABELS),
    }
    weights = {name: value.astype(np.float32) for name, value in params.items()}
    return {"x": x, "label": label.astype(np.int32)}, weights


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The state of Adam goes through both scans."""
    epochs, batches = sizes["E"], sizes["K"]

    def cost(net: Tree, x: jax.Array, label: jax.Array) -> jax.Array:
        h = jax.nn.relu(x @ net["w"].T + net["b"])
        score = jax.nn.log_softmax(h @ net["v"].T + net["c"])
        return -jnp.mean(jnp.take_along_axis(score, label[:, None], axis=1))

    def run(given: Tensors) -> Tensors:
        def batch(state: Tree, at: Tree) -> tuple[Tree, jax.Array]:
            net, moments, i = state
            value, slope = jax.value_and_grad(cost)(net, *at)
            rate = 1e-3 * 0.99 ** i.astype(jnp.float32)
            net, moments = adam(net, slope, moments, i, rate)
            return (net, moments, i + 1), value

        def epoch(state: Tree, _: None) -> tuple[Tree, jax.Array]:
            return jax.lax.scan(batch, state, (given["x"], given["label"]), length=batches)

        net = {name: given[f"{name}0"] for name in "wbvc"}
        start = net, adam_start(net), jnp.int32(0)
        (net, _, _), values = jax.lax.scan(epoch, start, length=epochs)
        return {"cost": values, "w": net["w"]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"E": 5, "K": 40, "B": 64},
    small={"E": 3, "K": 2, "B": 4},
)
