"""Attention to the last 256 positions, in JAX: in blocks of 256 queries, and with all scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array
WINDOW = 256
WEIGHTS = ("wq", "wk", "wv")


def in_blocks(q: Array, k: Array, v: Array) -> Array:
    """Each block of queries meets the keys of its own block and of the one before.

    Shapes: `f32[T, D]` each, `T` a multiple of the window.
    """
    room = ((WINDOW - 1, 0), (0, 0))
    keys, values = jnp.pad(k, room), jnp.pad(v, room)
    rows, columns = jnp.arange(WINDOW)[:, None], jnp.arange(2 * WINDOW - 1)[None]
    near = (columns >= rows) & (columns < rows + WINDOW)

    def block(first: Array) -> Array:
        part = lax.dynamic_slice_in_dim
        scores = part(q, first, WINDOW) @ part(keys, first, 2 * WINDOW - 1).T
        there = near & (columns + first >= WINDOW - 1)
        weights = jax.nn.softmax(jnp.where(there, scores, -jnp.inf))
        return weights @ part(values, first, 2 * WINDOW - 1)

    return lax.map(block, jnp.arange(0, len(q), WINDOW)).reshape(q.shape)


def masked(q: Array, k: Array, v: Array) -> Array:
    """All scores, most of which a mask takes away."""
    t = jnp.arange(len(q))
    near = (t[None] <= t[:, None]) & (t[None] > t[:, None] - WINDOW)
    return jax.nn.softmax(jnp.where(near, q @ k.T, -jnp.inf)) @ v


def gradients(attention: Callable[[Array, Array, Array], Array]) -> Callable[..., Any]:
    """The loss and its gradient by each weight."""

    def loss(weights: dict[str, Array], x: Array) -> Array:
        return jnp.mean(attention(*(x @ weights[name] for name in WEIGHTS)) ** 2)

    return jax.jit(jax.value_and_grad(loss))
