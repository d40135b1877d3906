"""Windows and global words in one masked softmax: each block of queries sees two blocks of keys."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sequences and a layer."""
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    weights = {name: normal(64, 64) / 8 for name in ("wq", "wk", "wv", "wo")}
    return {"x": normal(sizes["B"], sizes["T"], 64)}, weights


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Queries in blocks as long as the window, with the block before, and the first words."""
    length, window = sizes["T"], 32
    count = -(-length // window)
    at = jnp.arange(count)[:, None] * window
    queries = at + jnp.arange(window)
    keys = at - window + jnp.arange(2 * window)
    back = queries[:, :, None] - keys[:, None]
    near = (back >= 0) & (back < window) & (keys[:, None] >= 0)
    far = jnp.arange(4) <= queries[:, :, None] - window
    mask = jnp.concatenate([far, near], axis=-1)[:, None]

    def run(given: Tensors) -> Tensors:
        def heads(w: jax.Array) -> jax.Array:
            return (given["x"] @ w.T).reshape(sizes["B"], length, 4, 16)

        def blocks(k: jax.Array) -> jax.Array:
            rest = count * window - length
            padded = jnp.pad(k, ((0, 0), (0, rest), (0, 0), (0, 0)))
            own = padded.reshape(sizes["B"], count, window, 4, 16)
            before = jnp.pad(own[:, :-1], ((0, 0), (1, 0), (0, 0), (0, 0), (0, 0)))
            return jnp.concatenate([before, own], axis=2)

        q, k, v = (heads(given[name]) for name in ("wq", "wk", "wv"))
        rows = blocks(q)[:, :, window:]
        scores = jnp.concatenate(
            [
                jnp.einsum("bnqhd,bkhd->bnhqk", rows, k[:, :4]),
                jnp.einsum("bnqhd,bnkhd->bnhqk", rows, blocks(k)),
            ],
            axis=-1,
        )
        weight = jax.nn.softmax(jnp.where(mask, scores / 4.0, -jnp.inf))
        y = jnp.einsum("bnhqk,bkhd->bnqhd", weight[..., :4], v[:, :4])
        y = y + jnp.einsum("bnhqk,bnkhd->bnqhd", weight[..., 4:], blocks(v))
        flat = y.reshape(sizes["B"], count * window, 64)[:, :length]
        return {"y": flat @ given["wo"].T}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 4, "T": 512}, small={"B": 2, "T": 37})
"""Sliding windows, and a few words that everyone sees."""
