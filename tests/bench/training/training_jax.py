"""What a JAX user would write instead of `training.rt`: whole arrays, a mask, `jax.grad`.

Weights go by the names that `training.rt` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp

V, D, LAYERS, HEADS, THETA, EPSILON = 64, 128, 4, 4, 10000.0, 1e-5
RATE, B1, B2, TINY = 1e-3, 0.9, 0.999, 1e-8
Weights = Mapping[str, jax.Array]


def shapes() -> dict[str, tuple[int, ...]]:
    """All weights."""
    norms = {f"{n}.{part}": (D,) for n in ("first", "second") for part in ("scale", "bias")}
    block: dict[str, tuple[int, ...]] = {**norms}
    block |= {f"attention.{name}": (D, D) for name in ("q", "k", "v", "out")}
    block |= {"mlp.0.w": (4 * D, D), "mlp.0.b": (4 * D,), "mlp.1.w": (D, 4 * D), "mlp.1.b": (D,)}
    found = {f"blocks.{k}.{name}": s for k in range(LAYERS) for name, s in block.items()}
    return {"letters": (V, D), "last.scale": (D,), "last.bias": (D,), **found}


def layer_norm(w: Weights, name: str, x: jax.Array) -> jax.Array:
    d = x - x.mean(-1, keepdims=True)
    scaled = d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + EPSILON)
    return scaled * w[f"{name}.scale"] + w[f"{name}.bias"]


def rope(x: jax.Array) -> jax.Array:
    """`x: [B, T, H, D]`."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] * THETA ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    low, high = jnp.split(x, 2, -1)
    return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], -1)


def block(w: Weights, name: str, x: jax.Array) -> jax.Array:
    """`x: [B, T, D]`."""
    batch, steps, _ = x.shape
    seen = layer_norm(w, f"{name}.first", x)
    q, k, v = (
        (seen @ w[f"{name}.attention.{part}"].T).reshape(batch, steps, HEADS, -1) for part in "qkv"
    )
    scores = jnp.einsum("bthd,bshd->bhts", rope(q), rope(k)) / (D // HEADS) ** 0.5
    mask = jnp.tril(jnp.ones((steps, steps), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), -1)
    mixed = jnp.einsum("bhts,bshd->bthd", weights, v).reshape(batch, steps, D)
    x = x + mixed @ w[f"{name}.attention.out"].T
    hidden = layer_norm(w, f"{name}.second", x) @ w[f"{name}.mlp.0.w"].T + w[f"{name}.mlp.0.b"]
    hidden = jax.nn.gelu(hidden, approximate=False)
    return x + hidden @ w[f"{name}.mlp.1.w"].T + w[f"{name}.mlp.1.b"]


def loss(w: Weights, letter: jax.Array, after: jax.Array) -> jax.Array:
    """Letters and those that come next, `[B, T]`."""
    x = w["letters"][letter]
    for k in range(LAYERS):
        x = block(w, f"blocks.{k}", x)
    logits = layer_norm(w, "last", x) @ w["letters"].T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), after[..., None], -1).mean()


@partial(jax.jit, static_argnames="steps")
def train(w: Weights, letter: jax.Array, after: jax.Array, steps: int) -> jax.Array:
    """The loss of each step of Adam."""

    def step(state: tuple[Weights, Weights, Weights], i: jax.Array) -> tuple[object, jax.Array]:
        w, m, v = state
        cost, g = jax.value_and_grad(loss)(w, letter, after)
        m = {n: B1 * m[n] + (1 - B1) * g[n] for n in g}
        v = {n: B2 * v[n] + (1 - B2) * g[n] ** 2 for n in g}
        early, late = 1 - B1 ** (i + 1.0), 1 - B2 ** (i + 1.0)
        new = {n: w[n] - RATE * (m[n] / early) / (jnp.sqrt(v[n] / late) + TINY) for n in g}
        return (new, m, v), cost

    zeros = {n: jnp.zeros_like(x) for n, x in w.items()}
    return jax.lax.scan(step, (w, zeros, zeros), jnp.arange(steps))[1]
