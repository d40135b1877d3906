"""What the twins share: dense networks and Adam, as small JAX programs write them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Tensors

Tree = Any
"""A tree of arrays."""


def mlp_params(random: np.random.Generator, name: str, sizes: Sequence[int]) -> Arrays:
    """Weights `[out, in]` and biases of layers, named as in a file of params."""
    params: Arrays = {}
    for k, (before, after) in enumerate(pairwise(sizes)):
        deviation = (2 / (before + after)) ** 0.5
        w = deviation * random.standard_normal((after, before))
        params[f"{name}.{k}.w"] = w.astype(np.float32)
        params[f"{name}.{k}.b"] = np.zeros(after, np.float32)
    return params


def layers(given: Tensors, name: str) -> list[tuple[jax.Array, jax.Array]]:
    """The layers of a param, as pairs of weights and biases."""
    count = sum(key.startswith(f"{name}.") and key.endswith(".w") for key in given)
    return [(given[f"{name}.{k}.w"], given[f"{name}.{k}.b"]) for k in range(count)]


def mlp(net: Sequence[tuple[jax.Array, jax.Array]], x: jax.Array) -> jax.Array:
    """Dense layers with `tanh` between them on `x: [.., in]`."""
    for k, (w, b) in enumerate(net):
        x = x @ w.T + b
        if k < len(net) - 1:
            x = jnp.tanh(x)
    return x


def adam_start(tree: Tree) -> tuple[Tree, Tree]:
    """The state of Adam before its first step."""
    return jax.tree.map(jnp.zeros_like, tree), jax.tree.map(jnp.zeros_like, tree)


def adam(
    tree: Tree,
    slope: Tree,
    state: tuple[Tree, Tree],
    i: jax.Array,
    lr: float | jax.Array,
    b1: float = 0.9,
) -> tuple[Tree, tuple[Tree, Tree]]:
    """Step `i` of Adam, from 0 on: the tree after it, and the state."""
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state[0], slope)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state[1], slope)
    n = (i + 1).astype(jnp.float32)
    seen = 1 - b1**n, -jnp.expm1(n * np.log(0.999))
    tree = jax.tree.map(
        lambda x, m, v: x - lr * (m / seen[0]) / (jnp.sqrt(v / seen[1]) + 1e-8), tree, m, v
    )
    return tree, (m, v)
