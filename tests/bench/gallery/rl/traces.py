"""A walker as a scan with `.at[].set`; mapped over all."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Draws, and how strong the wind is."""
    random = np.random.default_rng(0)
    shape = (sizes["T"], sizes["B"])
    wind = np.array([0, 0, 0, 1, 1, 1, 2, 2, 1, 0], np.int32)
    u = random.random(shape).astype(np.float32)
    return {"u": u, "pick": random.integers(0, 4, shape).astype(np.int32)}, {"wind": wind}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The table and the traces are carries."""

    def walker(u: jax.Array, pick: jax.Array, wind: jax.Array) -> tuple[jax.Array, jax.Array]:
        def move(s: jax.Array, a: jax.Array) -> tuple[jax.Array, jax.Array]:
            row = jnp.clip(s // 10 - (a == 0) - wind[s % 10] + (a == 1), 0, 6)
            s2 = row * 10 + jnp.clip(s % 10 + (a == 2) - (a == 3), 0, 9)
            return s2, s2 == 37

        def step(state: Tree, drawn: tuple[jax.Array, jax.Array]) -> tuple[Tree, jax.Array]:
            q, trace, s, a = state
            u, pick = drawn
            s2, won = move(s, a)
            a2 = jnp.where(u < 0.1, pick, jnp.argmax(q[s2]))
            delta = -1.0 + jnp.where(won, 0.0, q[s2, a2]) - q[s, a]
            trace = trace.at[s, a].set(1.0)
            q = q + 0.3 * delta * trace
            trace = jnp.where(won, 0.0, 0.9 * trace)
            return (q, trace, jnp.where(won, 30, s2), jnp.where(won, pick, a2)), won

        table = jnp.zeros((70, 4))
        state, won = jax.lax.scan(step, (table, table, jnp.int32(30), pick[0]), (u[1:], pick[1:]))
        return won.sum() + move(*state[2:])[1].astype(jnp.float32), state[0]

    def run(given: Tensors) -> Tensors:
        wins, q = jax.vmap(walker, (1, 1, None))(given["u"], given["pick"], given["wind"])
        return {"wins": wins, "Q": q}

    return run


PAIR = Pair(
    data=data, twin=twin, sizes={"T": 2000, "B": 16}, small={"T": 9, "B": 2}, in_tests=False
)
