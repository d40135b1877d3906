"""The maze as one array under `lax.while_loop`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A maze with a prize in it."""
    random = np.random.default_rng(0)
    shape = (sizes["H"], sizes["W"])
    reward = np.full(shape, -0.04, np.float32)
    reward[shape[0] // 2, shape[1] // 3] = 1.0
    return {"reward": reward, "wall": random.random(shape) < 0.2}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Neighbours are slices of the array with its rim doubled."""
    State = tuple[jax.Array, jax.Array, jax.Array, jax.Array]

    def around(x: jax.Array) -> list[jax.Array]:
        p = jnp.pad(x, 1, mode="edge")
        return [p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]]

    def run(given: Tensors) -> Tensors:
        walls = around(given["wall"])

        def values(v: jax.Array) -> jax.Array:
            up, down, left, right = (
                jnp.where(wall, v, there) for wall, there in zip(walls, around(v), strict=True)
            )
            side, along = 0.1 * (left + right), 0.1 * (up + down)
            return jnp.stack(
                [0.8 * up + side, 0.8 * down + side, 0.8 * left + along, 0.8 * right + along]
            )

        def step(state: State) -> State:
            v, _, _, k = state
            better = given["reward"] + 0.95 * jnp.max(values(v), axis=0)
            return better, v, jnp.max(jnp.abs(better - v)), k + 1

        def more(state: State) -> jax.Array:
            return (state[2] >= 1e-4) & (state[3] < sizes["K"])

        zeros = jnp.zeros((sizes["H"], sizes["W"]))
        state = (zeros, zeros, jnp.float32(1.0), jnp.int32(0))
        value = jax.lax.while_loop(more, step, state)[1]
        return {"value": value, "policy": jnp.argmax(values(value), axis=0).astype(jnp.int32)}

    return run


PAIR = Pair(
    in_tests=False,
    data=data,
    twin=twin,
    sizes={"K": 1000, "H": 48, "W": 48},
    small={"K": 6, "H": 4, "W": 5},
)
