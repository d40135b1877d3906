"""The forward algorithm of a CRF as a `lax.scan` over all sentences, and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sentences of different lengths with tags."""
    random = np.random.default_rng(0)
    shape = sizes["B"], sizes["T"]
    inputs = {
        "x": random.standard_normal((*shape, 32)).astype(np.float32),
        "tag": random.integers(0, 12, shape).astype(np.int32),
        "length": random.integers(1, sizes["T"] + 1, sizes["B"]).astype(np.int32),
    }
    return inputs, {
        "emit": random.standard_normal((12, 32)).astype(np.float32) / 5,
        "move": random.standard_normal((12, 12)).astype(np.float32),
        "start": random.standard_normal(12).astype(np.float32),
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One scan for all paths, gathers for the right one."""

    def cost(weights: Tensors, given: Tensors) -> jax.Array:
        emit, move, start = weights["emit"], weights["move"], weights["start"]
        tag, length = given["tag"], given["length"]
        score = given["x"] @ emit.T
        there = jnp.arange(sizes["T"]) < length[:, None]

        def step(alpha: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            score, there = row
            new = jax.nn.logsumexp(alpha[:, :, None] + move, axis=1) + score
            return jnp.where(there[:, None], new, alpha), None

        rest = score[:, 1:].swapaxes(0, 1), there[:, 1:].T
        alpha, _ = jax.lax.scan(step, start + score[:, 0], rest)
        own = jnp.take_along_axis(score, tag[..., None], 2)[..., 0]
        moves = jnp.where(there[:, 1:], move[tag[:, :-1], tag[:, 1:]], 0.0).sum(1)
        first = start[tag[:, 0]] + own[:, 0]
        right = first + moves + jnp.where(there[:, 1:], own[:, 1:], 0.0).sum(1)
        return jnp.mean(jax.nn.logsumexp(alpha, axis=1) - right)

    def run(given: Tensors) -> Tensors:
        weights = {name: given[name] for name in ("emit", "move", "start")}
        loss, slopes = jax.value_and_grad(cost)(weights, given)
        return {"loss": loss} | {f"by_{name}": slope for name, slope in slopes.items()}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 32, "T": 128}, small={"B": 3, "T": 4})
"""The loss of a tagger that knows which tag follows which."""
