"""The program that a JAX user would write instead of `examples/llama/model.rt`.

One jitted step with donated, padded caches `[B, KV, T, D]`, one pair of them per layer, masked to
the positions seen so far. The step is called from a Python loop; the tokens stay on the device.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file

LAYERS, WIDTH, HEADS, KV, HEAD = 30, 576, 9, 3, 64
THETA, EPSILON = 100000.0, 1e-5
MATRICES = {
    "n1": "input_layernorm",
    "wq": "self_attn.q_proj",
    "wk": "self_attn.k_proj",
    "wv": "self_attn.v_proj",
    "wo": "self_attn.o_proj",
    "n2": "post_attention_layernorm",
    "wg": "mlp.gate_proj",
    "wu": "mlp.up_proj",
    "wd": "mlp.down_proj",
}

Tree = Any


def load(path: Path) -> Tree:
    """The weights as a tree of device arrays, a dictionary per layer."""
    file = load_file(path)
    layers = [
        {
            name: jnp.array(file[f"model.layers.{layer}.{part}.weight"])
            for name, part in MATRICES.items()
        }
        for layer in range(LAYERS)
    ]
    return {
        "embed": jnp.array(file["model.embed_tokens.weight"]),
        "norm": jnp.array(file["model.norm.weight"]),
        "layers": layers,
    }


def empty_caches(batch: int, steps: int) -> Tree:
    """Zeroed keys and values for `steps` positions."""
    shape = (batch, KV, steps, HEAD)
    return [(jnp.zeros(shape), jnp.zeros(shape)) for _ in range(LAYERS)]


def rms_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + EPSILON) * scale


def rope(x: jax.Array, t: jax.Array) -> jax.Array:
    angle = t * THETA ** (-jnp.arange(HEAD // 2) / (HEAD // 2))
    cos, sin = (jnp.tile(f(angle), 2) for f in (jnp.cos, jnp.sin))
    low, high = jnp.split(x, 2, -1)
    return x * cos + jnp.concatenate([-high, low], -1) * sin


def attention(w: Tree, x: jax.Array, cache: Tree, t: jax.Array, window: int) -> tuple[Any, Any]:
    batch = x.shape[0]
    keys, values = cache
    q = rope((x @ w["wq"].T).reshape(batch, HEADS, HEAD), t).reshape(batch, KV, HEADS // KV, HEAD)
    k = rope((x @ w["wk"].T).reshape(batch, KV, HEAD), t)
    v = (x @ w["wv"].T).reshape(batch, KV, HEAD)
    keys = jax.lax.dynamic_update_slice(keys, k[:, :, None], (0, 0, t, 0))
    values = jax.lax.dynamic_update_slice(values, v[:, :, None], (0, 0, t, 0))
    place = jnp.arange(keys.shape[2])
    seen = (place <= t) & ((place > t - window) if window else True)
    scores = jnp.einsum("bkgd,bksd->bkgs", q, keys) / HEAD**0.5
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), -1)
    mixed = jnp.einsum("bkgs,bksd->bkgd", weights, values)
    return mixed.reshape(batch, WIDTH) @ w["wo"].T, (keys, values)


@partial(jax.jit, static_argnames=("window",), donate_argnames=("caches",))
def step(
    w: Tree, caches: Tree, token: jax.Array, forced: jax.Array, t: jax.Array, window: int = 0
) -> tuple[jax.Array, Tree]:
    """Token `t` in, token `t + 1` out; `forced >= 0` is a prompt's token and wins."""
    x = w["embed"][token]
    new = []
    for layer, cache in zip(w["layers"], caches, strict=True):
        mixed, cache = attention(layer, rms_norm(x, layer["n1"]), cache, t, window)
        new.append(cache)
        x = x + mixed
        m = rms_norm(x, layer["n2"])
        x = x + (jax.nn.silu(m @ layer["wg"].T) * (m @ layer["wu"].T)) @ layer["wd"].T
    best = jnp.argmax(rms_norm(x, w["norm"]) @ w["embed"].T, -1).astype(jnp.int32)
    return jnp.where(forced >= 0, forced, best), new


def decode(w: Tree, prompts: list[list[int]], steps: int, window: int = 0) -> np.ndarray:
    """`steps` tokens for each prompt, the prompt's own included: `i32[B, steps]`."""
    forced = np.full((len(prompts), steps), -1, np.int32)
    for row, prompt in zip(forced, prompts, strict=True):
        row[: len(prompt)] = prompt
    caches = empty_caches(len(prompts), steps)
    tokens = [jnp.asarray(forced[:, 0])]
    with jax.default_matmul_precision("highest"):
        for t in range(steps - 1):
            token, caches = step(w, caches, tokens[-1], forced[:, t + 1], np.int32(t), window)
            tokens.append(token)
    return np.stack([np.asarray(token) for token in tokens], 1)


def look_at_all(w: Tree, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Causal attention of all positions at once, with the keys and values it has made."""
    batch, steps, _ = x.shape
    q = (x @ w["wq"].T).reshape(batch, steps, HEADS, HEAD)
    k = (x @ w["wk"].T).reshape(batch, steps, KV, HEAD)
    v = (x @ w["wv"].T).reshape(batch, steps, KV, HEAD)
    place = jnp.arange(steps)[:, None, None]
    q, k = rope(q, place), rope(k, place)
    q = q.reshape(batch, steps, KV, HEADS // KV, HEAD)
    scores = jnp.einsum("btkgd,bskd->bkgts", q, k) / HEAD**0.5
    seen = jnp.tril(jnp.ones((steps, steps), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), -1)
    mixed = jnp.einsum("bkgts,bskd->btkgd", weights, v)
    return mixed.reshape(batch, steps, WIDTH) @ w["wo"].T, k, v


@jax.jit
def whole(w: Tree, tokens: jax.Array) -> tuple[jax.Array, Tree]:
    """What follows a prompt `i32[B, S]`, and the caches that it leaves behind."""
    x = w["embed"][tokens]
    caches = []
    for layer in w["layers"]:
        mixed, k, v = look_at_all(layer, rms_norm(x, layer["n1"]))
        caches.append((k, v))
        x = x + mixed
        m = rms_norm(x, layer["n2"])
        x = x + (jax.nn.silu(m @ layer["wg"].T) * (m @ layer["wu"].T)) @ layer["wd"].T
    last = rms_norm(x[:, -1], w["norm"]) @ w["embed"].T
    return jnp.argmax(last, -1).astype(jnp.int32), caches


def prefill(w: Tree, tokens: np.ndarray) -> np.ndarray:
    """The token that follows a prompt of which all positions are computed at once."""
    with jax.default_matmul_precision("highest"):
        token, caches = whole(w, jnp.asarray(tokens))
        jax.block_until_ready(caches)
        return np.asarray(token)
