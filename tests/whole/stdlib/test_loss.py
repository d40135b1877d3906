"""Losses and their gradients against optax, JAX and SciPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np
import optax

from tests.whole.stdlib.reference import Case, check, normal

STEPS = 3
HEAD = """import loss
dim t < T
input x[t]: f32[6]
input y[t]: f32[6]
input p[t]: f32[6]
input label[t]: i32
input side[t]: i32[6]
"""


def mean(x: jax.Array) -> jax.Array:
    return x.mean(-1)


CASES: dict[str, Case] = {
    "mse": ("loss.mse(x, y)", lambda d: mean(optax.squared_error(d["x"], d["y"]))),
    "mae": ("loss.mae(x, y)", lambda d: mean(jnp.abs(d["x"] - d["y"]))),
    "huber": ("loss.huber(x, y)", lambda d: mean(optax.huber_loss(d["x"], d["y"]))),
    "huber_wide": (
        "loss.huber(x, y, 0.3)",
        lambda d: mean(optax.huber_loss(d["x"], d["y"], delta=0.3)),
    ),
    "log_cosh": ("loss.log_cosh(x, y)", lambda d: mean(optax.log_cosh(d["x"], d["y"]))),
    "quantile": (
        "loss.quantile(x, y, 0.9)",
        lambda d: mean(jnp.where(d["y"] > d["x"], 0.9, 0.1) * jnp.abs(d["y"] - d["x"])),
    ),
    "cross_entropy": (
        "loss.cross_entropy(x, label)",
        lambda d: optax.softmax_cross_entropy_with_integer_labels(d["x"], d["label"]),
    ),
    "smoothed": (
        "loss.cross_entropy(x, label, smoothing = 0.1)",
        lambda d: optax.softmax_cross_entropy(
            d["x"], optax.smooth_labels(jax.nn.one_hot(d["label"], 6), 0.1)
        ),
    ),
    "soft_cross_entropy": (
        "loss.soft_cross_entropy(x, p)",
        lambda d: optax.softmax_cross_entropy(d["x"], d["p"]),
    ),
    "binary_cross_entropy": (
        "loss.binary_cross_entropy(x, p)",
        lambda d: mean(optax.sigmoid_binary_cross_entropy(d["x"], d["p"])),
    ),
    "kl": (
        "loss.kl(x, y)",
        lambda d: optax.kl_divergence(jax.nn.log_softmax(d["y"]), jax.nn.softmax(d["x"])),
    ),
    "gaussian_nll": (
        "loss.gaussian_nll(x, 0.3 * y, p)",
        lambda d: -stats.norm.logpdf(d["p"], d["x"], jnp.exp(0.3 * d["y"])).sum(-1),
    ),
    "gaussian_kl": (
        "loss.gaussian_kl(x, y)",
        lambda d: 0.5 * (d["x"] ** 2 + jnp.exp(2 * d["y"]) - 1 - 2 * d["y"]).sum(-1),
    ),
    "hinge": ("loss.hinge(x, side)", lambda d: mean(optax.hinge_loss(d["x"], d["side"]))),
    "cosine_similarity": (
        "loss.cosine_similarity(x, y)",
        lambda d: optax.cosine_similarity(d["x"], d["y"], epsilon=1e-8),
    ),
    "cosine_distance": (
        "loss.cosine_distance(x, y)",
        lambda d: optax.cosine_distance(d["x"], d["y"], epsilon=1e-8),
    ),
}


def test_losses() -> None:
    given = normal(5, {"x": (STEPS, 6), "y": (STEPS, 6), "p": (STEPS, 6)})
    p = np.exp(given["p"])
    given["p"] = p / p.sum(-1, keepdims=True)
    given["label"] = np.array([0, 5, 2], np.int32)
    given["side"] = np.where(given["x"] + given["y"] > 0, 1, -1).astype(np.int32)
    check(HEAD, CASES, {"T": STEPS}, given)
