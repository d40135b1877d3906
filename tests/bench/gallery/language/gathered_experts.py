"""The weights of the chosen experts gathered for each token."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A few tokens and sixteen experts."""
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    return {"x": normal(sizes["N"], 128)}, {
        "router": normal(16, 128) / 11,
        "up": normal(16, 256, 128) / 11,
        "down": normal(16, 128, 256) / 16,
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Gathers and two batched products."""

    def run(given: Tensors) -> Tensors:
        x = given["x"]
        score, chosen = jax.lax.top_k(x @ given["router"].T, 2)
        hidden = jax.nn.silu(jnp.einsum("nkfd,nd->nkf", given["up"][chosen], x))
        out = jnp.einsum("nkdf,nkf->nkd", given["down"][chosen], hidden)
        return {"y": jnp.einsum("nk,nkd->nd", jax.nn.softmax(score), out)}

    return run


PAIR = Pair(in_tests=True, data=data, twin=twin, sizes={"N": 16}, small={"N": 3})
"""Top-2 routing of a decoding step: as few experts as possible are read."""
