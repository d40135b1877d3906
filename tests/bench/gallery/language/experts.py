"""A mixture of experts with all of them computed, as batched products and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Tokens, their targets, and eight experts."""
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    inputs = {"x": normal(sizes["N"], 64), "target": normal(sizes["N"], 64)}
    return inputs, {
        "router": normal(8, 64) / 8,
        "up": normal(8, 128, 64) / 8,
        "down": normal(8, 64, 128) / 11,
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """All experts on all tokens; those that were not chosen have weight zero."""

    def cost(weights: Tensors, x: jax.Array, target: jax.Array) -> jax.Array:
        score, chosen = jax.lax.top_k(x @ weights["router"].T, 2)
        share = jnp.sum(jax.nn.softmax(score)[..., None] * jax.nn.one_hot(chosen, 8), axis=1)
        hidden = jax.nn.gelu(jnp.einsum("nd,efd->enf", x, weights["up"]), approximate=False)
        y = jnp.einsum("enf,edf,ne->nd", hidden, weights["down"], share)
        load = share.mean(0)
        return jnp.mean((y - target) ** 2) + 0.08 * jnp.sum(load * load)

    def run(given: Tensors) -> Tensors:
        weights = {name: given[name] for name in ("router", "up", "down")}
        loss, slopes = jax.value_and_grad(cost)(weights, given["x"], given["target"])
        return {"loss": loss} | {f"by_{name}": slope for name, slope in slopes.items()}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"N": 1024}, small={"N": 5})
"""Top-2 routing, the experts' feed-forward layers, a balancing loss, and all gradients."""
