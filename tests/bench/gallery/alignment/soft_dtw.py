"""Soft-DTW with a `lax.scan` over anti-diagonals, for a batch, and its gradient."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Pairs of series."""
    random = np.random.default_rng(0)

    def series(length: int) -> np.ndarray:
        return random.standard_normal((sizes["B"], length, 4)).astype(np.float32)

    return {"x": series(sizes["M"]), "y": series(sizes["N"])}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A diagonal is a row of M cells: what each reads lies on the two diagonals before."""
    rows, columns = sizes["M"], sizes["N"]
    far = 1e9

    def distance(x: jax.Array, y: jax.Array) -> jax.Array:
        cost = jnp.sum((x[:, :, None] - y[:, None]) ** 2, axis=-1)
        i = jnp.arange(rows)
        j = jnp.arange(rows + columns - 1)[:, None] - i
        inside = (j >= 0) & (j < columns)
        diagonals = jnp.where(inside, cost[:, i, jnp.clip(j, 0, columns - 1)], far)

        def shift(row: jax.Array) -> jax.Array:
            return jnp.pad(row[:, :-1], ((0, 0), (1, 0)), constant_values=far)

        def step(
            state: tuple[jax.Array, jax.Array], row: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[jax.Array, jax.Array], None]:
            before, last = state
            cost, inside = row
            near = jnp.stack([shift(last), last, shift(before)])
            new = cost - 0.5 * jax.nn.logsumexp(near / -0.5, axis=0)
            return (last, jnp.where(inside, new, far)), None

        start = jnp.full(diagonals.shape[::2], far)
        first = start.at[:, 0].set(cost[:, 0, 0])
        rest = diagonals.swapaxes(0, 1)[1:], inside[1:]
        (_, last), _ = jax.lax.scan(step, (start, first), rest)
        return last[:, -1]

    def run(given: Tensors) -> Tensors:
        value, back = jax.vjp(lambda x: distance(x, given["y"]), given["x"])
        return {"distance": value, "slope": back(jnp.ones_like(value))[0]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 8, "M": 64, "N": 96}, small={"B": 2, "M": 3, "N": 4})
"""How far series are from each other if time may stretch, softly, and its gradient."""
