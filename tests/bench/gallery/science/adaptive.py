"""All oscillators under one `lax.while_loop`, with masks."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Oscillators that differ in how stiff they are."""
    random = np.random.default_rng(0)
    start = random.standard_normal((sizes["B"], 2)).astype(np.float32)
    return {"start": start, "mu": (3 * random.random(sizes["B"])).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """It ends when all have arrived."""
    State = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        mu = given["mu"]

        def slope(y: jax.Array) -> jax.Array:
            return jnp.stack([y[:, 1], mu * (1 - y[:, 0] ** 2) * y[:, 1] - y[:, 0]], axis=1)

        def step(state: State) -> State:
            y, _, time, h, s = state
            size = jnp.minimum(h, 5.0 - time)
            k1 = slope(y)
            k2 = slope(y + size[:, None] * k1)
            error = jnp.sqrt(jnp.mean((0.5 * size[:, None] * (k2 - k1)) ** 2, axis=1))
            good = error < 1e-3
            y2 = jnp.where(good[:, None], y + 0.5 * size[:, None] * (k1 + k2), y)
            time = jnp.where(good, time + size, time)
            h = size * jnp.clip(0.9 * jnp.sqrt(1e-3 / (error + 1e-10)), 0.2, 5.0)
            return y2, y, time, h, s + 1

        def more(state: State) -> jax.Array:
            _, _, time, _, s = state
            return ~jnp.all(time >= 5.0 - 1e-6) & (s < sizes["S"] - 1)

        b = sizes["B"]
        y0 = given["start"]
        state = (y0, y0, jnp.zeros(b), jnp.full(b, 0.05), jnp.int32(0))
        return {"last": jax.lax.while_loop(more, step, state)[0]}

    return run


PAIR = Pair(
    in_tests=True, data=data, twin=twin, sizes={"S": 2000, "B": 128}, small={"S": 7, "B": 3}
)
