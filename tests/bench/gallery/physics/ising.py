"""Both half sweeps in the step of one `lax.scan`, with `jnp.roll`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random spins, and a uniform number for each spin and half sweep."""
    random = np.random.default_rng(0)
    n = sizes["N"]
    start = np.where(random.random((n, n)) < 0.5, 1.0, -1.0).astype(np.float32)
    return {"start": start, "chance": random.random((sizes["T"], 2, n, n)).astype(np.float32)}, {}


def field(s: jax.Array) -> jax.Array:
    """The sum of the four neighbours."""
    return jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) + jnp.roll(s, 1, 1) + jnp.roll(s, -1, 1)


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """What is measured is measured in the loop."""
    color = np.add.outer(np.arange(sizes["N"]), np.arange(sizes["N"])) % 2

    def run(given: Tensors) -> Tensors:
        def step(s: jax.Array, u: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
            measured = jnp.mean(s), -jnp.mean(s * field(s)) / 2, s
            for c in range(2):
                flip = (color == c) & (u[c] < jax.nn.sigmoid(-0.88 * s * field(s)))
                s = jnp.where(flip, -s, s)
            return s, measured[:2]

        s, (magnetization, energy) = jax.lax.scan(step, given["start"], given["chance"][:-1])
        end = {"magnetization": jnp.mean(s), "energy": -jnp.mean(s * field(s)) / 2}
        rows = {"magnetization": magnetization, "energy": energy}
        both = {key: jnp.concatenate([rows[key], end[key][None]]) for key in rows}
        return {**both, "last": s}

    return run


PAIR = Pair(
    data=data, twin=twin, sizes={"T": 200, "N": 64}, small={"T": 4, "N": 6}, constants=("N",)
)
