"""The neurons as one scan, which carries a ring of the last spikes."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

N, D = 50, 5
Neurons = tuple[jax.Array, ...]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise that makes some of them fire."""
    random = np.random.default_rng(0)
    drive = 5 * random.standard_normal((sizes["T"], N)) + 4
    weights = 0.3 * random.random((N, N))
    return {"drive": drive.astype(np.float32), "weights": weights.astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """All steps but the last, which only fires."""

    def step(state: Neurons, given: Neurons) -> tuple[Neurons, jax.Array]:
        v, u, w, trace, ring = state
        drive, t = given
        s = v >= 30
        fired = s.astype(jnp.float32)
        late, ring = ring[t % D], ring.at[t % D].set(fired)
        v0, u0 = jnp.where(s, -65.0, v), jnp.where(s, u + 8, u)
        now = drive + w @ late
        v2 = jnp.minimum(v0 + 0.5 * (0.04 * v0**2 + 5 * v0 + 140 - u0 + now), 60)
        learned = fired[:, None] * trace - 0.5 * trace[:, None] * fired
        w2 = jnp.clip(w + 0.01 * learned, 0, 2)
        new = v2, u0 + 0.02 * (0.2 * v0 - u0), w2, 0.9 * trace + fired, ring
        return new, fired.sum()

    def run(given: Tensors) -> Tensors:
        ones = jnp.ones(N)
        start = -65 * ones, -13 * ones, given["weights"], 0 * ones, jnp.zeros((D, N))
        rows = given["drive"][:-1], jnp.arange(sizes["T"] - 1)
        (v, _, w, *_), rate = jax.lax.scan(step, start, rows)
        return {"rate": jnp.append(rate, (v >= 30).sum()), "w": w}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 500}, small={"T": 7})
