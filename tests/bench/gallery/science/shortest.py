"""`jax.lax.while_loop` with a segmented minimum in each round."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A ring with short cuts."""
    random = np.random.default_rng(0)
    n, e = sizes["N"], sizes["E"]
    tail = np.arange(e) % n
    head = np.where(np.arange(e) < n, (tail + 1) % n, random.integers(0, n, e))
    length = random.random(e)
    inputs = {"tail": tail.astype(np.int32), "head": head.astype(np.int32)}
    return {**inputs, "length": length.astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Rounds until nothing changes."""
    n = sizes["N"]

    def run(given: Tensors) -> Tensors:
        tail, head, length = given["tail"], given["head"], given["length"]

        def more(state: tuple[jax.Array, jax.Array]) -> jax.Array:
            return state[1]

        def shorten(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            far, _ = state
            way = jax.ops.segment_min(far[tail] + length, head, n)
            near = jnp.minimum(far, way)
            return near, jnp.any(near < far)

        start = jnp.full(n, 1e9).at[0].set(0.0), jnp.array(True)
        return {"far": jax.lax.while_loop(more, shorten, start)[0]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"N": 2000, "E": 6000, "K": 3000},
    small={"N": 5, "E": 8, "K": 9},
)
