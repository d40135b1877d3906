"""One scan over all channels, which carries what the next observation needs."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

State = tuple[jax.Array, ...]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise whose mean changes halfway."""
    x = np.random.default_rng(0).standard_normal((sizes["C"], sizes["T"]))
    x[:, sizes["T"] // 2 :] += 1.5
    return {"x": x.astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """All states begin anew where the first observation is."""

    def run(given: Tensors) -> Tensors:
        def step(state: State, given: State) -> tuple[State, State]:
            mean, m2, dev, q, fast, up, down, alarm, since = state
            (t, x), start = given, given[0] == 0
            new = jnp.where(start, x, mean + (x - mean) / (t + 1))
            m2 = jnp.where(start, 0.0, m2 + (x - mean) * (x - new))
            q = jnp.where(start, x, q + 0.05 * dev * jnp.sign(x - q))
            dev = jnp.sqrt(m2 / jnp.maximum(t, 1)) + 1e-3
            fast = jnp.where(start, x, 0.8 * fast + 0.2 * x)
            score, anew = (fast - q) / dev, start | alarm
            up = jnp.where(anew, 0.0, jnp.maximum(0.0, up + score - 0.5))
            down = jnp.where(anew, 0.0, jnp.maximum(0.0, down - score - 0.5))
            alarm = jnp.maximum(up, down) > 5.0
            since = jnp.where(start | alarm, 0, since + 1)
            return (new, m2, dev, q, fast, up, down, alarm, since), (dev, q, since, alarm)

        zero = jnp.zeros(sizes["C"])
        state = (*[zero] * 7, zero > 0.0, jnp.zeros(sizes["C"], jnp.int32))
        steps = jnp.arange(sizes["T"]), given["x"].T
        dev, q, since, alarm = jax.lax.scan(step, state, steps)[1]
        return {"dev": dev.T, "q": q.T, "since": since.T, "count": alarm.sum(0)}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"C": 32, "T": 5000},
    small={"C": 2, "T": 9},
)
