"""The edit distance in a batch: a `lax.scan` over anti-diagonals."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Pairs of words of four letters."""
    random = np.random.default_rng(0)

    def words(length: int) -> np.ndarray:
        return random.integers(0, 4, (sizes["B"], length)).astype(np.int32)

    return {"left": words(sizes["M"]), "right": words(sizes["N"])}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A diagonal has a cell for each row of the table."""
    rows, columns = sizes["M"], sizes["N"]

    def run(given: Tensors) -> Tensors:
        i = jnp.arange(rows + 1)
        own = given["left"][:, jnp.maximum(i - 1, 0)]

        def step(
            state: tuple[jax.Array, jax.Array], k: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array], None]:
            before, last = state
            j = k - i
            other = given["right"][:, jnp.clip(j - 1, 0, columns - 1)]
            both = jnp.roll(before, 1, 1) + jnp.where(own == other, 0, 1)
            new = jnp.minimum(both, jnp.minimum(jnp.roll(last, 1, 1), last) + 1)
            new = jnp.where(i == 0, j, jnp.where(j == 0, i, new))
            return (last, new), None

        zeros = jnp.zeros((sizes["B"], rows + 1), jnp.int32)
        (_, last), _ = jax.lax.scan(step, (zeros, zeros), jnp.arange(rows + columns + 1))
        return {"distance": last[:, rows]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"B": 8, "M": 192, "N": 256},
    small={"B": 2, "M": 3, "N": 5},
)
"""How many letters to put in, take out or replace, by anti-diagonals."""
