"""The programs that one would write instead of `decode.rt`, from the plain to the expert one.

All decode greedily with one pair of caches `[B, KV, S, H]` per layer in the carry of a scan:

- `padded`: caches have room for all `T` positions, scores are masked to those seen so far (or, with
  a window, to the last of them);
- `bucketed`: caches grow, `size` positions at a time, with a scan for each size;
- `tiled`: caches have room for all, but as many tiles of `size` positions are read as there are so
  far, with sums that run along with the maximum of the scores;
- `ring`: caches have room for the window, slots are used in turn.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

THETA, EPSILON = 10000.0, 1e-5

Tree = Any


class Sizes(NamedTuple):
    """Of a model, under the names that they have in `decode.rt`; by default those written there."""

    L: int = 8
    D: int = 256
    F: int = 688
    V: int = 4096
    H: int = 32
    KV: int = 4
    G: int = 2


SIZES = Sizes()


def weights(sizes: Sizes = SIZES) -> dict[str, np.ndarray]:
    """Random weights under the names of `decode.rt`, with an axis for the layers."""
    random = np.random.default_rng(0)
    layers, width, inner, words, head, kv, group = sizes

    def normal(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / shape[-1] ** 0.5).astype(np.float32)

    return {
        "embed": normal(words, width),
        "norm": np.ones(width, np.float32),
        "attn_norm": np.ones((layers, width), np.float32),
        "wq": normal(layers, kv * group * head, width),
        "wk": normal(layers, kv * head, width),
        "wv": normal(layers, kv * head, width),
        "wo": normal(layers, width, kv * group * head),
        "mlp_norm": np.ones((layers, width), np.float32),
        "gate": normal(layers, inner, width),
        "up": normal(layers, inner, width),
        "down": normal(layers, width, inner),
    }


def on_device(w: dict[str, np.ndarray]) -> Tree:
    """The weights as a tree, a dictionary for each layer."""
    parts = [name for name in w if name not in ("embed", "norm")]
    count = len(w["wq"])
    layers = [{name: jnp.array(w[name][layer]) for name in parts} for layer in range(count)]
    return {"embed": jnp.array(w["embed"]), "norm": jnp.array(w["norm"]), "layers": layers}


def rms_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + EPSILON) * scale


def rope(x: jax.Array, t: jax.Array) -> jax.Array:
    half = x.shape[-1] // 2
    angle = t * THETA ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    low, high = jnp.split(x, 2, -1)
    return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], -1)


def attention(
    w: Tree, x: jax.Array, cache: Tree, t: jax.Array, slot: jax.Array, window: int, tile: int = 0
) -> tuple[jax.Array, Tree]:
    """One position looks at those in the cache, its own being put into `slot`."""
    keys, values = cache
    batch, kv, _, head = keys.shape
    q = rope((x @ w["wq"].T).reshape(batch, -1, head), t)
    k = rope((x @ w["wk"].T).reshape(batch, kv, head), t)
    v = (x @ w["wv"].T).reshape(batch, kv, head)
    keys = jax.lax.dynamic_update_slice(keys, k[:, :, None], (0, 0, slot, 0))
    values = jax.lax.dynamic_update_slice(values, v[:, :, None], (0, 0, slot, 0))
    place = jnp.arange(keys.shape[2])
    seen = (place <= t) & ((place > t - window) if window else True)
    q = q.reshape(batch, kv, -1, head)
    if tile:
        mixed = over_tiles(q / head**0.5, keys, values, t, tile)
        return mixed.reshape(batch, -1) @ w["wo"].T, (keys, values)
    scores = jnp.einsum("bkgd,bksd->bkgs", q, keys) / head**0.5
    scores = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), -1)
    mixed = jnp.einsum("bkgs,bksd->bkgd", scores, values)
    return mixed.reshape(batch, -1) @ w["wo"].T, (keys, values)


def over_tiles(
    q: jax.Array, keys: jax.Array, values: jax.Array, t: jax.Array, tile: int
) -> jax.Array:
    """What queries `[B, KV, G, H]` see of positions up to `t`, a tile at a time."""

    def add(k: jax.Array, sums: Tree) -> Tree:
        top, total, mixed = sums
        some, other = (jax.lax.dynamic_slice_in_dim(x, k * tile, tile, 2) for x in (keys, values))
        scores = jnp.einsum("bkgd,bksd->bkgs", q, some)
        scores = jnp.where(k * tile + jnp.arange(tile) <= t, scores, -jnp.inf)
        now = jnp.maximum(top, jnp.max(scores, -1, keepdims=True))
        share, scale = jnp.exp(scores - now), jnp.exp(top - now)
        total = total * scale + jnp.sum(share, -1, keepdims=True)
        return now, total, mixed * scale + jnp.einsum("bkgs,bksd->bkgd", share, other)

    start = jnp.full((*q.shape[:-1], 1), -jnp.inf), jnp.zeros((*q.shape[:-1], 1)), jnp.zeros_like(q)
    _, total, mixed = jax.lax.fori_loop(0, t // tile + 1, add, start)
    return mixed / total


def step(
    w: Tree,
    caches: Tree,
    token: jax.Array,
    t: jax.Array,
    slot: jax.Array,
    window: int = 0,
    tile: int = 0,
) -> tuple[Tree, jax.Array]:
    """Token `t` in, what each word scores as token `t + 1` out."""
    x = w["embed"][token]
    new = []
    for layer, cache in zip(w["layers"], caches, strict=True):
        normal = rms_norm(x, layer["attn_norm"])
        mixed, cache = attention(layer, normal, cache, t, slot, window, tile)
        new.append(cache)
        x = x + mixed
        m = rms_norm(x, layer["mlp_norm"])
        x = x + (jax.nn.silu(m @ layer["gate"].T) * (m @ layer["up"].T)) @ layer["down"].T
    return new, rms_norm(x, w["norm"]) @ w["embed"].T


def empty(batch: int, size: int, sizes: Sizes) -> Tree:
    """Caches of zeros."""
    shape = (batch, sizes.KV, size, sizes.H)
    return [(jnp.zeros(shape), jnp.zeros(shape)) for _ in range(sizes.L)]


@partial(jax.jit, static_argnames=("steps", "window", "ring", "tile"), donate_argnames=("caches",))
def scan(
    w: Tree,
    caches: Tree,
    token: jax.Array,
    start: int,
    *,
    steps: int,
    window: int,
    ring: bool,
    tile: int = 0,
) -> tuple[Tree, jax.Array, jax.Array]:
    """`steps` positions from `start` on; the tokens that go in, and the next one."""

    def body(carry: Tree, t: jax.Array) -> tuple[Tree, jax.Array]:
        caches, token = carry
        slot, seen = (t % window, 0) if ring else (t, window)
        caches, score = step(w, caches, token, t, slot, seen, tile)
        return (caches, jnp.argmax(score, -1).astype(jnp.int32)), token

    (caches, token), tokens = jax.lax.scan(body, (caches, token), start + jnp.arange(steps))
    return caches, token, tokens


def padded(
    w: Tree,
    first: np.ndarray,
    steps: int,
    window: int = 0,
    room: int | None = None,
    sizes: Sizes = SIZES,
) -> np.ndarray:
    """One scan over caches with room for all positions, or for more: `i32[B, steps]`."""
    caches = empty(len(first), room or steps, sizes)
    with jax.default_matmul_precision("highest"):
        found = scan(w, caches, jnp.array(first), 0, steps=steps, window=window, ring=False)
    return np.asarray(found[2]).T


def ring(w: Tree, first: np.ndarray, steps: int, window: int, sizes: Sizes = SIZES) -> np.ndarray:
    """One scan over caches with room for a window."""
    caches = empty(len(first), window, sizes)
    with jax.default_matmul_precision("highest"):
        found = scan(w, caches, jnp.array(first), 0, steps=steps, window=window, ring=True)
    return np.asarray(found[2]).T


def tiled(w: Tree, first: np.ndarray, steps: int, tile: int, sizes: Sizes = SIZES) -> np.ndarray:
    """One scan over caches with room for all positions, read as far as there are any."""
    caches = empty(len(first), -(-steps // tile) * tile, sizes)
    how = {"steps": steps, "window": 0, "ring": False, "tile": tile}
    with jax.default_matmul_precision("highest"):
        found = scan(w, caches, jnp.array(first), 0, **how)
    return np.asarray(found[2]).T


@partial(jax.jit, static_argnames=("size",))
def longer(cache: jax.Array, *, size: int) -> jax.Array:
    """A cache with `size` more positions."""
    return jnp.pad(cache, ((0, 0), (0, 0), (0, size), (0, 0)))


def bucketed(w: Tree, first: np.ndarray, steps: int, size: int, sizes: Sizes = SIZES) -> np.ndarray:
    """A scan for each `size` positions, over caches that have as many as there are so far."""
    caches, token, found = empty(len(first), size, sizes), jnp.array(first), []
    with jax.default_matmul_precision("highest"):
        for start in range(0, steps, size):
            if start:
                caches = jax.tree.map(partial(longer, size=size), caches)
            caches, token, tokens = scan(
                w, caches, token, start, steps=min(size, steps - start), window=0, ring=False
            )
            found.append(tokens)
    return np.concatenate([np.asarray(tokens) for tokens in found]).T


@partial(jax.jit, static_argnames=("window", "sizes"))
def scores(w: Tree, text: jax.Array, window: int, sizes: Sizes = SIZES) -> jax.Array:
    """What each word scores after a text `i32[T]`, found with padded caches."""
    words = jnp.zeros((1, sizes.V))

    def body(carry: Tree, each: tuple[jax.Array, jax.Array]) -> tuple[Tree, None]:
        t, token = each
        return step(w, carry[0], token[None], t, t, window), None

    with jax.default_matmul_precision("highest"):
        steps = jnp.arange(len(text)), text
        (_, found), _ = jax.lax.scan(body, (empty(1, len(text), sizes), words), steps)
    return found[0]
