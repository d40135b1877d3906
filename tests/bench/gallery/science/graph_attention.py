"""Gathered rows of padded neighbours; `jax.value_and_grad` in a scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

MOST, FEATURES, HEADS, WIDTH, LABELS = 8, 16, 4, 8, 5
Net = dict[str, jax.Array]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A graph of which some neighbours are padding, and weights."""
    random = np.random.default_rng(0)
    count = sizes["V"]
    absent = (np.arange(MOST) > 0) & (random.random((count, MOST)) < 0.3)
    near = np.where(absent, -1, random.integers(0, count, (count, MOST))).astype(np.int32)
    x = (random.standard_normal((count, FEATURES)) / 2).astype(np.float32)
    label = random.integers(0, LABELS, count).astype(np.int32)
    per_head = {"a": (HEADS, WIDTH, FEATURES), "src": (HEADS, WIDTH), "dst": (HEADS, WIDTH)}
    shapes = {**per_head, "b": (LABELS, HEADS * WIDTH), "s2": (LABELS,), "d2": (LABELS,)}
    net = {f"w0.{k}": random.standard_normal(shape) / 2 for k, shape in shapes.items()}
    return {"x": x, "near": near, "label": label}, {k: w.astype(np.float32) for k, w in net.items()}


def attend(own: jax.Array, others: jax.Array, values: jax.Array, near: jax.Array) -> jax.Array:
    """All heads: scores `[V, H]`, values `[V, H, C]`."""
    at = jnp.maximum(near, 0)
    score = jax.nn.leaky_relu(own[:, None] + others[at], 0.2)
    share = jax.nn.softmax(jnp.where(near[..., None] >= 0, score, -1e9), 1)
    return jnp.einsum("vkh,vkhc->vhc", share, values[at])


def loss(w: Net, x: jax.Array, near: jax.Array, label: jax.Array) -> jax.Array:
    """Two layers."""
    z = jnp.einsum("hcf,vf->vhc", w["a"], x)
    first = attend(jnp.sum(z * w["dst"], -1), jnp.sum(z * w["src"], -1), z, near)
    z2 = jax.nn.elu(first.reshape(len(x), -1)) @ w["b"].T
    logits = attend((z2 @ w["d2"])[:, None], (z2 @ w["s2"])[:, None], z2[:, None], near)[:, 0]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], 1))


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Gradient descent on the whole graph."""

    def run(given: Tensors) -> Tensors:
        def step(w: Net, _: None) -> tuple[Net, tuple[jax.Array, Net]]:
            value, slope = jax.value_and_grad(loss)(w, given["x"], given["near"], given["label"])
            return jax.tree.map(lambda a, g: a - 0.05 * g, w, slope), (value, w)

        start = {k.removeprefix("w0."): v for k, v in given.items() if k.startswith("w0.")}
        _, (values, nets) = jax.lax.scan(step, start, length=sizes["I"])
        return {"loss": values, **{f"net.{k}": w[-1] for k, w in nets.items()}}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 30, "V": 300}, small={"I": 3, "V": 4})
