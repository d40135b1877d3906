"""A scan forwards and one backwards, under `vmap`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random scores."""
    random = np.random.default_rng(0)
    s = sizes["S"]
    seen = random.standard_normal((sizes["B"], sizes["T"], s)).astype(np.float32)
    start, move = random.standard_normal(s), random.standard_normal((s, s))
    return {"seen": seen}, {"start": start.astype(np.float32), "move": move.astype(np.float32)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One sequence, mapped."""

    def decode(seen: jax.Array, start: jax.Array, move: jax.Array) -> tuple[jax.Array, jax.Array]:
        def forwards(score: jax.Array, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
            step = score[:, None] + move
            return step.max(0) + seen, step.argmax(0)

        def backwards(state: jax.Array, before: jax.Array) -> tuple[jax.Array, jax.Array]:
            return before[state], state

        score, before = jax.lax.scan(forwards, start + seen[0], seen[1:])
        first, path = jax.lax.scan(backwards, score.argmax(), before, reverse=True)
        return jnp.append(first[None], path), score.max()

    def run(given: Tensors) -> Tensors:
        path, best = jax.vmap(decode, (0, None, None))(given["seen"], given["start"], given["move"])
        return {"path": path.astype(jnp.int32), "best": best}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"B": 16, "T": 200, "S": 32},
    small={"B": 2, "T": 4, "S": 3},
    constants=("S",),
)
