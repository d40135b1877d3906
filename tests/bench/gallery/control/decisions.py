"""A while loop over products of all transitions with the values."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Each action leads to few states."""
    random = np.random.default_rng(0)
    states, actions = 200, 5
    moves = random.dirichlet(np.full(states, 0.1), (actions, states)).astype(np.float32)
    return {"P": moves, "R": random.standard_normal((states, actions)).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The largest change decides."""

    def run(given: Tensors) -> Tensors:
        moves, reward = given["P"], given["R"]
        Carry = tuple[jax.Array, jax.Array, jax.Array, jax.Array]

        def goes_on(carry: Carry) -> jax.Array:
            return (carry[0] < sizes["K"]) & (carry[2] >= 1e-3)

        def step(carry: Carry) -> Carry:
            k, v, _, _ = carry
            q = reward + 0.95 * (moves @ v).T
            best = jnp.max(q, axis=1)
            return k + 1, best, jnp.max(jnp.abs(best - v)), q

        start = jnp.int32(0), jnp.zeros(len(reward)), jnp.float32(jnp.inf), jnp.zeros_like(reward)
        _, value, _, q = jax.lax.while_loop(goes_on, step, start)
        return {"value": value, "policy": jnp.argmax(q, axis=1).astype(jnp.int32)}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"K": 1000}, small={"K": 3})
