"""Causal attention in JAX: with all scores at once, and online, over tiles of keys."""

from __future__ import annotations

import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

Attention = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def whole(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """All scores, masked above the diagonal."""
    count, width = q.shape
    before = jnp.tril(jnp.ones((count, count), bool))
    scores = jnp.where(before, q @ k.T / np.sqrt(width), -jnp.inf)
    return jax.nn.softmax(scores) @ v


def online(tile: int) -> Attention:
    """As many keys at a time, whose number they divide; what a step finds is found again later."""

    def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        count, width = q.shape
        places = jnp.arange(count)

        @jax.checkpoint
        def step(
            sums: tuple[jax.Array, ...], part: tuple[jax.Array, ...]
        ) -> tuple[tuple[jax.Array, ...], None]:
            top, total, found = sums
            keys, values, where = part
            scores = q @ keys.T / np.sqrt(width)
            scores = jnp.where(places[:, None] >= where, scores, -jnp.inf)
            now = jnp.maximum(top, jnp.max(scores, axis=1, keepdims=True))
            weights, scale = jnp.exp(scores - now), jnp.exp(top - now)
            total = total * scale + jnp.sum(weights, axis=1, keepdims=True)
            return (now, total, found * scale + weights @ values), None

        start = jnp.full((count, 1), -jnp.inf), jnp.zeros((count, 1)), jnp.zeros_like(q)
        parts = k.reshape(-1, tile, width), v.reshape(-1, tile, width), places.reshape(-1, tile)
        (_, total, found), _ = jax.lax.scan(step, start, parts)
        return found / total

    return attention


def loss(attention: Attention) -> Callable[..., tuple[jax.Array, tuple[jax.Array, ...]]]:
    """The mean square of what attention finds, and its gradients."""

    def value(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jnp.mean(jnp.sum(attention(q, k, v) ** 2, axis=1))

    return jax.value_and_grad(value, argnums=(0, 1, 2))


def main(given: str, made: str, tile: int) -> None:
    """Read the arrays of a file, write the results into another one; tile 0: all at once."""
    arrays = np.load(given)
    q, k, v = (jnp.array(arrays[name]) for name in "qkv")
    value, (dq, dk, dv) = jax.jit(loss(online(tile) if tile else whole))(q, k, v)
    np.savez(made, loss=value, dq=dq, dk=dk, dv=dv)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
