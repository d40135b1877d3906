"""Two scans, with what does not depend on the state computed before, and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SHAPES = {
    "forth": {"w": (192, 32), "u": (192, 48), "b": (192,)},
    "back": {"w": (192, 32), "u": (192, 48), "b": (192,)},
    "out": {"w": (10, 96), "b": (10,)},
}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sentences with tags."""
    random = np.random.default_rng(0)
    shape = sizes["B"], sizes["T"]
    inputs = {
        "x": random.standard_normal((*shape, 32)).astype(np.float32),
        "tag": random.integers(0, 10, shape).astype(np.int32),
    }
    return inputs, {
        f"{layer}.{name}": random.standard_normal(shape).astype(np.float32) / 7
        for layer, leaves in SHAPES.items()
        for name, shape in leaves.items()
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """An LSTM as a scan, forwards and in reverse."""

    def lstm(x: jax.Array, cell: Tensors, reverse: bool) -> jax.Array:
        def step(
            state: tuple[jax.Array, jax.Array], a: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            h, c = state
            i, f, g, o = jnp.split(a + h @ cell["u"].T, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((sizes["B"], 48))
        inputs = x @ cell["w"].T + cell["b"]
        return jax.lax.scan(step, (zeros, zeros), inputs, reverse=reverse)[1]

    def cost(net: dict[str, Tensors], given: Tensors) -> jax.Array:
        x = given["x"].swapaxes(0, 1)
        both = [lstm(x, net["forth"], False), lstm(x, net["back"], True)]
        logits = jnp.concatenate(both, axis=-1) @ net["out"]["w"].T + net["out"]["b"]
        score = jax.nn.log_softmax(logits)
        return -jnp.mean(jnp.take_along_axis(score, given["tag"].T[..., None], 2))

    def run(given: Tensors) -> Tensors:
        net = {
            layer: {name: given[f"{layer}.{name}"] for name in leaves}
            for layer, leaves in SHAPES.items()
        }
        value, slopes = jax.value_and_grad(cost)(net, given)
        return {"cost": value} | {
            f"by_{layer}.{name}": slope
            for layer, leaves in slopes.items()
            for name, slope in leaves.items()
        }

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 32, "T": 64}, small={"B": 2, "T": 3})
"""A tagger that reads in both directions, and its gradients."""
