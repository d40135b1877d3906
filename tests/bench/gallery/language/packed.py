"""Weights of 8 bits: a row times each transposed matrix, `lax.scan` over layers and tokens."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Integers, and scales with which each product keeps the size of what it multiplies."""
    random = np.random.default_rng(0)
    d, v, layers = sizes["D"], sizes["V"], sizes["L"]
    shapes = {"embed": (v, d), "up": (layers, 4 * d, d), "down": (layers, d, 4 * d)}
    params: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        params[name] = random.integers(-127, 128, shape).astype(np.int8)
        size = 64 * shape[-1] ** 0.5
        scale = (random.random(shape[:-1]) + 0.5) / size
        params[f"{name}_scale"] = scale.astype(np.float32)
    return {}, params


def times(w: jax.Array, scale: jax.Array, x: jax.Array) -> jax.Array:
    """The vector as a row, for which XLA unpacks while it multiplies."""
    return (x[None] @ w.astype(jnp.float32).T)[0] * scale


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The layers are what the inner scan goes through."""

    def run(given: Tensors) -> Tensors:
        names = ("up", "up_scale", "down", "down_scale")

        def layer(x: jax.Array, w: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
            up, up_scale, down, down_scale = w
            return x + times(down, down_scale, jax.nn.silu(times(up, up_scale, x))), None

        def step(tok: jax.Array, _: None) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            x = given["embed"][tok].astype(jnp.float32) * given["embed_scale"][tok]
            y, _ = jax.lax.scan(layer, x, tuple(given[name] for name in names))
            logits = times(given["embed"], given["embed_scale"], y)
            return jnp.argmax(logits).astype(jnp.int32), (tok, logits)

        _, (tok, logits) = jax.lax.scan(step, jnp.int32(1), None, sizes["T"])
        return {"tok": tok, "logits": logits}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"T": 32, "L": 8, "D": 512, "V": 16384},
    small={"T": 3, "L": 2, "D": 160, "V": 120},
    constants=("D", "V"),
)
