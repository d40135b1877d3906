"""One walker: a scan with `.at[].add`; mapped over all."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Draws, and where the walkers start."""
    random = np.random.default_rng(0)
    shape = (sizes["B"], sizes["T"])
    u = random.random(shape).astype(np.float32)
    pick = random.integers(0, 4, shape).astype(np.int32)
    cells = random.integers(0, 64, sizes["B"]).astype(np.int32)
    return {"u": u, "pick": pick, "cells": cells}, {"goal": np.array(37, np.int32)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A table of a walker is a carry."""
    width = 8

    def walker(
        u: jax.Array, pick: jax.Array, cell: jax.Array, goal: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        def step(
            state: tuple[jax.Array, jax.Array], drawn: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
            q, s = state
            u, pick = drawn
            a = jnp.where(u < 0.1, pick, jnp.argmax(q[s]))
            row = jnp.clip(s // width + (a == 0) - (a == 1), 0, width - 1)
            col = jnp.clip(s % width + (a == 2) - (a == 3), 0, width - 1)
            s2 = row * width + col
            won = s2 == goal
            r = won - 0.01
            target = r + jnp.where(won, 0.0, 0.95 * q[s2].max())
            after = q.at[s, a].add(0.5 * (target - q[s, a]))
            return (after, jnp.where(won, cell, s2)), r

        start = jnp.zeros((width * width, 4)), cell
        # The last table is not used by a step.
        q, r0 = jax.lax.scan(step, start, (u[:-1], pick[:-1]))
        _, r1 = step(q, (u[-1], pick[-1]))
        return r0.sum() + r1, q[0]

    def run(given: Tensors) -> Tensors:
        mapped = jax.vmap(walker, (0, 0, 0, None))
        gain, q = mapped(given["u"], given["pick"], given["cells"], given["goal"])
        return {"gain": gain, "Q": q}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 16, "T": 2000}, small={"B": 2, "T": 5})
