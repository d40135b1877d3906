"""A training step of the whole batch, in a scan over batches."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Images with a bright spot, whose place is the label."""
    random = np.random.default_rng(0)
    i, b = sizes["I"], sizes["B"]
    label = random.integers(10, size=(i, b)).astype(np.int32)
    image = 0.5 * random.standard_normal((i, b, 16, 16, 1))
    image += 2.0 * (np.arange(16) == label[..., None] + 2)[:, :, :, None, None]
    params: Arrays = {}
    for name, shape in {"one": (3, 3, 1, 8), "two": (3, 3, 8, 16), "head": (10, 256)}.items():
        reads = np.prod(shape[:-1]) if len(shape) == 4 else shape[1]
        w = random.standard_normal(shape) * (2 / reads) ** 0.5
        params[f"net0.{name}.w"] = w.astype(np.float32)
        params[f"net0.{name}.b"] = np.zeros(shape[-1] if len(shape) == 4 else 10, np.float32)
    return {"image": image.astype(np.float32), "label": label}, params


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """With XLA's convolution and `lax.reduce_window`."""

    def logits(net: Tree, x: jax.Array) -> jax.Array:
        for name in ("one", "two"):
            w, b = net[name]
            x = jax.lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x + b)
            window = (1, 2, 2, 1)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
        w, b = net["head"]
        return x.reshape(len(x), -1) @ w.T + b

    def loss(net: Tree, x: jax.Array, label: jax.Array) -> tuple[jax.Array, jax.Array]:
        out = logits(net, x)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(out), label[:, None], 1)
        return -jnp.mean(chosen), jnp.mean((jnp.argmax(out, axis=1) == label).astype(jnp.float32))

    def run(given: Tensors) -> Tensors:
        def step(
            state: tuple[Tree, Tree], given: tuple[jax.Array, ...]
        ) -> tuple[tuple[Tree, Tree], tuple[jax.Array, ...]]:
            net, moments = state
            x, label, i = given
            (cost, right), slope = jax.value_and_grad(loss, has_aux=True)(net, x, label)
            return adam(net, slope, moments, i, 3e-3), (cost, right, net["head"][1])

        net = {k: (given[f"net0.{k}.w"], given[f"net0.{k}.b"]) for k in ("one", "two", "head")}
        xs = (given["image"], given["label"], jnp.arange(sizes["I"]))
        _, (cost, right, bias) = jax.lax.scan(step, (net, adam_start(net)), xs)
        return {"cost": cost, "right": right, "bias": bias[-1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 20, "B": 32}, small={"I": 2, "B": 2})
