"""Layers of causal attention as a dimension, against a scan over stacked weights."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

LAYERS, WIDTH, HEADS = 4, 32, 4


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random inputs, and weights small enough for sums of many positions."""
    random = np.random.default_rng(0)
    x0 = random.standard_normal((sizes["B"], sizes["T"], WIDTH)).astype(np.float32)
    shape = (LAYERS, WIDTH, WIDTH)
    weights = {f"w.{n}": (random.standard_normal(shape) / 8).astype(np.float32) for n in "qkv"}
    return {"x0": x0}, weights


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Attention with a mask on whole arrays, its layers a scan."""
    causal = jnp.tril(jnp.ones((sizes["T"], sizes["T"]), bool))

    def layer(x: jax.Array, w: Tensors) -> tuple[jax.Array, None]:
        q, k, v = ((x @ w[n].T).reshape(*x.shape[:2], HEADS, WIDTH // HEADS) for n in "qkv")
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(WIDTH // HEADS)
        weight = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
        return x + jnp.einsum("bhts,bshd->bthd", weight, v).reshape(x.shape), None

    def run(given: Tensors) -> Tensors:
        def cost(w: Tensors) -> jax.Array:
            return jnp.sum(jax.lax.scan(layer, given["x0"], w)[0] ** 2)

        value, slope = jax.value_and_grad(cost)({n: given[f"w.{n}"] for n in "qkv"})
        return {"cost": value} | {f"g.{n}": slope[n] for n in "qkv"}

    return run


PAIR = Pair(in_tests=True, data=data, twin=twin, sizes={"B": 4, "T": 256}, small={"B": 3, "T": 5})
