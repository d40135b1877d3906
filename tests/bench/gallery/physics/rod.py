"""The rods as arrays, the last three of which `lax.scan` carries."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

Last = tuple[jax.Array, jax.Array, jax.Array]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Rods with random spots, held at random temperatures at their left ends."""
    random = np.random.default_rng(0)
    start = random.standard_normal((sizes["B"], sizes["N"])).astype(np.float32)
    left = random.standard_normal((sizes["B"], sizes["T"])).astype(np.float32)
    return {"start": start, "left": left}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The inner part is computed from slices and joined with the ends."""

    def step(last: Last, left: jax.Array) -> tuple[Last, jax.Array]:
        a, b, c = last  # from one, two and three steps ago
        around = a[:, :-2] - 2 * a[:, 1:-1] + a[:, 2:]
        inner = a[:, 1:-1] + 0.2 * around - 0.05 * (c[:, 1:-1] - b[:, :-2])
        u = jnp.concatenate([left[:, None], inner, a[:, -1:]], axis=1)
        return (u, a, b), jnp.mean(u, axis=1)

    def run(given: Tensors) -> Tensors:
        start, left = given["start"], given["left"]
        last, warmth = jax.lax.scan(step, (start, start, start), left.T[3:])
        first = jnp.broadcast_to(jnp.mean(start, axis=1), (3, sizes["B"]))
        return {"warmth": jnp.concatenate([first, warmth]).T, "final": last[0]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"B": 16, "T": 500, "N": 256},
    small={"B": 2, "T": 7, "N": 5},
)
"""Heat in rods whose inner points remember what they were three steps ago."""
