"""Steps as a `lax.scan` with two more in each, differentiated by JAX."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

Row = tuple[jax.Array, ...]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A rod with random temperatures, and what it is compared with."""
    random = np.random.default_rng(0)
    start, seen = random.standard_normal((2, sizes["N"])).astype(np.float32)
    conducts = random.uniform(0.1, 1.0, sizes["N"]).astype(np.float32)
    return {"start": start, "seen": seen}, {"c": conducts}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The factors are the same in all steps."""

    def factor(before: jax.Array, row: Row) -> tuple[jax.Array, jax.Array]:
        c, diagonal = row
        upper = -c / (diagonal + c * before)
        return upper, upper

    def down(before: jax.Array, row: Row) -> tuple[jax.Array, jax.Array]:
        right, c, pivot = row
        y = (right + c * before) / pivot
        return y, y

    def up(after: jax.Array, row: Row) -> tuple[jax.Array, jax.Array]:
        y, upper = row
        x = y - upper * after
        return x, x

    def misfit(c: jax.Array, given: Tensors) -> tuple[jax.Array, jax.Array]:
        zero, diagonal = jnp.float32(0), 1 + 2 * c
        _, upper = jax.lax.scan(factor, zero, (c, diagonal))
        pivot = diagonal + c * jnp.concatenate([jnp.zeros(1), upper[:-1]])

        def step(u: jax.Array, _: None) -> tuple[jax.Array, None]:
            padded = jnp.pad(u, 1)
            right = u + c * (padded[:-2] - 2 * u + padded[2:])
            _, y = jax.lax.scan(down, zero, (right, c, pivot))
            _, x = jax.lax.scan(up, zero, (y, upper), reverse=True)
            return x, None

        u, _ = jax.lax.scan(step, given["start"], None, length=sizes["T"] - 1)
        return jnp.sum((u - given["seen"]) ** 2), u

    def run(given: Tensors) -> Tensors:
        derived = jax.value_and_grad(misfit, has_aux=True)
        (loss, last), slope = derived(given["c"], given)
        return {"misfit": loss, "slope": slope, "last": last}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 200, "N": 256}, small={"T": 4, "N": 5})
"""Heat in a rod by implicit steps, and how what is left depends on each conductivity."""
