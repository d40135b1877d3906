"""Gemma 3 in plain NumPy, from its published description: whole texts under masks, no cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def norm(x: Array, weight: Array, eps: float) -> Array:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * (1 + weight)


def rotated(x: Array, theta: float) -> Array:
    """`x: [T, heads, H]`; the pair of elements `k` and `k + H/2` is a complex number."""
    steps, _, size = x.shape
    pairs = x[..., : size // 2] + 1j * x[..., size // 2 :]
    angles = np.outer(np.arange(steps), theta ** (-2.0 * np.arange(size // 2) / size))
    turned = pairs * np.exp(1j * angles)[:, None]
    return np.concatenate([turned.real, turned.imag], -1).astype(x.dtype)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(
    x: Array, weights: Mapping[str, Array], config: Mapping[str, Any], full: bool
) -> Array:
    steps, size = len(x), config["head_dim"]
    theta = config["rope_theta" if full else "rope_local_base_freq"]
    q, k, v = (
        (x @ weights[f"{part}_proj.weight"].T).reshape(steps, -1, size) for part in ("q", "k", "v")
    )
    q = rotated(norm(q, weights["q_norm.weight"], config["rms_norm_eps"]), theta)
    k = rotated(norm(k, weights["k_norm.weight"], config["rms_norm_eps"]), theta)
    group = q.shape[1] // k.shape[1]
    scores = np.einsum("qhd,khd->hqk", q, k.repeat(group, 1))
    scores = scores / config["query_pre_attn_scalar"] ** 0.5
    ago = np.arange(steps)[:, None] - np.arange(steps)
    visible = (ago >= 0) & (full | (ago < config["sliding_window"]))
    attended = softmax(np.where(visible, scores, -np.inf))
    mixed = np.einsum("hqk,khd->qhd", attended, v.repeat(group, 1))
    return mixed.reshape(steps, -1) @ weights["o_proj.weight"].T


def logits(tokens: list[int], weights: Mapping[str, Array], config: Mapping[str, Any]) -> Array:
    """The scores of all words after each position, `[T, V]`; weights by Hugging Face's names."""
    eps, embed = config["rms_norm_eps"], weights["model.embed_tokens.weight"]
    x = embed[tokens] * config["hidden_size"] ** 0.5
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        own = {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}
        heads = {
            n.removeprefix("self_attn."): w for n, w in own.items() if n.startswith("self_attn.")
        }
        full = (layer + 1) % config["_sliding_window_pattern"] == 0
        y = attention(norm(x, own["input_layernorm.weight"], eps), heads, config, full)
        x = x + norm(y, own["post_attention_layernorm.weight"], eps)
        y = norm(x, own["pre_feedforward_layernorm.weight"], eps)
        y = gelu(y @ own["mlp.gate_proj.weight"].T) * (y @ own["mlp.up_proj.weight"].T)
        x = x + norm(
            y @ own["mlp.down_proj.weight"].T, own["post_feedforward_layernorm.weight"], eps
        )
    return norm(x, weights["model.norm.weight"], eps) @ embed.T


def greedy(
    prompt: list[int], steps: int, weights: Mapping[str, Array], config: Mapping[str, Any]
) -> list[int]:
    """The prompt and what follows it, `steps` tokens in all."""
    tokens = prompt[:steps]
    while len(tokens) < steps:
        tokens.append(int(logits(tokens, weights, config)[-1].argmax()))
    return tokens
