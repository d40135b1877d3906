"""Cross entropy over a large vocabulary with its gradient, some rows of scores at a time."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np


def part(head: jax.Array, place: jax.Array, word: jax.Array) -> jax.Array:
    """The sum of the losses of some places."""
    scores = place @ head
    said = jnp.take_along_axis(scores, word[:, None], axis=1)[:, 0]
    return jnp.sum(jax.nn.logsumexp(scores, axis=1) - said)


def loss(
    head: jax.Array, place: jax.Array, word: jax.Array, tile: int
) -> tuple[jax.Array, jax.Array]:
    """The mean loss and its gradient; `tile` divides the number of places."""
    count = place.shape[0]

    def step(
        sums: tuple[jax.Array, jax.Array], rows: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, jax.Array], None]:
        value, slope = jax.value_and_grad(part)(head, *rows)
        return (sums[0] + value, sums[1] + slope), None

    tiles = place.reshape(-1, tile, place.shape[1]), word.reshape(-1, tile)
    (value, slope), _ = jax.lax.scan(step, (jnp.float32(0.0), jnp.zeros_like(head)), tiles)
    return value / count, slope / count


def main(given: str, made: str, tile: int) -> None:
    """Read the arrays of a file, write the results into another one."""
    arrays = np.load(given)
    data = [jnp.array(arrays[name]) for name in ("head", "place", "word")]
    value, slope = jax.jit(loss, static_argnums=3)(*data, tile)
    np.savez(made, loss=value, slope=slope)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
