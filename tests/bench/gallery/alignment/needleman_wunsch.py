"""Needleman-Wunsch: a `lax.scan` over anti-diagonals, another one for the way back."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Two sequences of four letters."""
    random = np.random.default_rng(0)
    left, right = (random.integers(0, 4, sizes[n]).astype(np.int32) for n in ("M", "N"))
    similar = (3.0 * np.eye(4) - 1.0).astype(np.float32)
    return {"left": left, "right": right}, {"similar": similar}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Diagonals keep which way their cells came; the way back reads them."""
    rows, columns = sizes["M"], sizes["N"]
    i = jnp.arange(rows + 1)

    def run(given: Tensors) -> Tensors:
        right = given["right"]

        def step(
            state: tuple[jax.Array, jax.Array], k: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            before, last = state
            j = k - i
            other = right[jnp.clip(j - 1, 0, columns - 1)]
            match = given["similar"][given["left"][jnp.clip(i - 1, 0, rows - 1)], other]
            both, up, left = jnp.roll(before, 1) + match, jnp.roll(last, 1) - 1.0, last - 1.0
            inner = jnp.maximum(both, jnp.maximum(up, left))
            new = jnp.where(i == 0, -1.0 * j, jnp.where(j == 0, -1.0 * i, inner))
            way = jnp.where(new == both, 0, jnp.where(new == up, 1, 2))
            way = jnp.where(i == 0, 2, jnp.where(j == 0, 1, way))
            return (last, new), way

        zeros = jnp.zeros(rows + 1)
        (_, last), ways = jax.lax.scan(step, (zeros, zeros), jnp.arange(rows + columns + 1))

        def back(
            at: tuple[jax.Array, jax.Array], _: None
        ) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
            row, column = at
            move, done = ways[row + column, row], row + column == 0
            new_row = jnp.where(done | (move == 2), row, row - 1)
            return (new_row, jnp.where(done | (move == 1), column, column - 1)), at

        start = jnp.int32(rows), jnp.int32(columns)
        _, (row, column) = jax.lax.scan(back, start, None, rows + columns + 1)
        return {"score": last[rows], "row": row, "column": column}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"M": 96, "N": 128}, small={"M": 3, "N": 4})
"""Global alignment of two sequences, with its path."""
