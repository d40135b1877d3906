"""Smith-Waterman with affine gaps: a `lax.scan` over anti-diagonals."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Pairs of sequences of four letters."""
    random = np.random.default_rng(0)

    def letters(length: int) -> np.ndarray:
        return random.integers(0, 4, (sizes["B"], length)).astype(np.int32)

    similar = (3.0 * np.eye(4) - 1.0).astype(np.float32)
    return {"left": letters(sizes["M"]), "right": letters(sizes["N"])}, {"similar": similar}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A diagonal has a cell for each letter on the left."""
    rows, columns = sizes["M"], sizes["N"]

    def run(given: Tensors) -> Tensors:
        left, right = given["left"], given["right"]
        i = jnp.arange(rows)
        j = jnp.arange(rows + columns - 1)[:, None] - i
        inside = (j >= 0) & (j < columns)
        other = right[:, jnp.clip(j, 0, columns - 1)].swapaxes(0, 1)
        match = given["similar"][left, other]

        def shift(row: jax.Array, edge: float) -> jax.Array:
            return jnp.pad(row[:, :-1], ((0, 0), (1, 0)), constant_values=edge)

        def step(
            state: tuple[jax.Array, ...], row: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[jax.Array, ...], None]:
            before, last, e, f, best = state
            match, inside = row
            e = jnp.maximum(last - 3.0, e - 1.0)
            f = jnp.maximum(shift(last, 0.0) - 3.0, shift(f, -jnp.inf) - 1.0)
            new = jnp.maximum(shift(before, 0.0) + match, jnp.maximum(e, f))
            new = jnp.where(inside, jnp.maximum(new, 0.0), 0.0)
            e, f = jnp.where(inside, e, -jnp.inf), jnp.where(inside, f, -jnp.inf)
            return (last, new, e, f, jnp.maximum(best, new)), None

        zeros = jnp.zeros((sizes["B"], rows))
        start = (zeros, zeros, zeros - jnp.inf, zeros - jnp.inf, zeros)
        state, _ = jax.lax.scan(step, start, (match, inside))
        return {"score": state[-1].max(1)}

    return run


PAIR = Pair(
    data=data, twin=twin, sizes={"B": 16, "M": 96, "N": 128}, small={"B": 2, "M": 4, "N": 5}
)
"""Local alignment with affine gaps."""
