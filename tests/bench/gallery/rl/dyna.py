"""Two scans, the inner one over what is remembered, with `.at[].set` and `.at[].add`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree

WIDTH = 64
CELLS = WIDTH * WIDTH


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Draws, and the cells that are remembered."""
    random = np.random.default_rng(0)
    steps, count = sizes["T"], sizes["K"]
    u = random.random(steps).astype(np.float32)
    pick = random.integers(0, 4, steps).astype(np.int32)
    again = random.integers(0, CELLS // 16, (steps, count)).astype(np.int32)
    return {"u": u, "pick": pick, "again": again}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """All tables are carries."""
    count = sizes["K"] - 1

    def run(given: Tensors) -> Tensors:
        def move(q: jax.Array, s: jax.Array, u: jax.Array, pick: jax.Array) -> Tensors:
            a = jnp.where(u < 0.1, pick, jnp.argmax(q[s]))
            row = jnp.clip(s // WIDTH + (a == 0) - (a == 1), 0, WIDTH - 1)
            s2 = row * WIDTH + jnp.clip(s % WIDTH + (a == 2) - (a == 3), 0, WIDTH - 1)
            return {"a": a, "s2": s2, "r": (s2 == CELLS - 1) - jnp.float32(0.01)}

        def step(state: Tree, drawn: tuple[jax.Array, ...]) -> tuple[Tree, jax.Array]:
            q, s, ahead, reward, tried = state
            u, pick, again = drawn
            m = move(q, s, u, pick)
            ahead = ahead.at[s, m["a"]].set(m["s2"])
            reward = reward.at[s, m["a"]].set(m["r"])
            where = jnp.concatenate([s[None], again[1:]])
            which = jnp.concatenate([m["a"][None], (again[1:] + jnp.arange(1, count + 1)) % 4])

            def learn(q: jax.Array, at: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
                goal = reward[at] + 0.95 * q[ahead[at]].max()
                return q.at[at].add(0.2 * (goal - q[at])), None

            q, _ = jax.lax.scan(learn, q, (where[:count], which[:count]))
            s = jnp.where(m["s2"] == CELLS - 1, 0, m["s2"])
            return (q, s, ahead, reward, tried.at[state[1]].add(1.0)), m["r"]

        table = jnp.zeros((CELLS, 4))
        start = (table, jnp.int32(0), jnp.zeros((CELLS, 4), jnp.int32), table, jnp.zeros(CELLS))
        u, pick, again = given["u"], given["pick"], given["again"]
        (q, s, *_, tried), r = jax.lax.scan(step, start, (u[:-1], pick[:-1], again[:-1]))
        return {"Q": q, "tried": tried, "gain": r.sum() + move(q, s, u[-1], pick[-1])["r"]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 4000, "K": 6}, small={"T": 5, "K": 3})
