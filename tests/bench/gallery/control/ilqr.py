"""A scan over rounds, with a scan backwards and one forwards in each."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Near the top."""
    return {"start": np.array([0.6, 0.0], np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A way, its controls, and the corrections to it are the carry."""
    dt, steps = 0.05, sizes["T"] - 1
    State = tuple[jax.Array, jax.Array, jax.Array, jax.Array]

    def backwards(
        state: tuple[jax.Array, jax.Array], given: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
        s, ss = state
        x, u = given
        a = jnp.array([[1.0, dt], [9.8 * dt * jnp.cos(x[0]), 1.0]])
        qu = 0.2 * dt * u + dt * s[1]
        quu = 0.2 * dt + dt * dt * ss[1, 1]
        qux = dt * ss[1] @ a
        k, gain = -qu / quu, -qux / quu
        s = 2 * dt * x + a.T @ s + gain * qu
        ss = 2 * dt * jnp.eye(2) + a.T @ ss @ a + jnp.outer(qux, gain)
        return (s, ss), (k, gain)

    def run(given: Tensors) -> Tensors:
        def one(state: State, _: None) -> tuple[State, jax.Array]:
            old, u, k, gain = state

            def forwards(
                x: jax.Array, given: tuple[jax.Array, ...]
            ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
                x_old, u_old, k, gain = given
                u = u_old + 0.5 * k + gain @ (x - x_old)
                cost = dt * (x @ x + 0.1 * u**2)
                ahead = jnp.stack([x[0] + dt * x[1], x[1] + dt * (9.8 * jnp.sin(x[0]) + u)])
                return ahead, (x, u, cost)

            _, (x, u, costs) = jax.lax.scan(forwards, given["start"], (old, u, k, gain))
            end = (20.0 * x[-1], 20.0 * jnp.eye(2))
            _, (k, gain) = jax.lax.scan(backwards, end, (x[:-1], u[:-1]), reverse=True)
            k, gain = jnp.append(k, 0.0), jnp.concatenate([gain, jnp.zeros((1, 2))])
            return (x, u, k, gain), jnp.sum(costs) + 10.0 * x[-1] @ x[-1]

        zeros = jnp.zeros(steps + 1)
        pairs = jnp.zeros((steps + 1, 2))
        state = (pairs, zeros, zeros, pairs)
        (_, u, _, _), cost = jax.lax.scan(one, state, length=sizes["I"])
        return {"cost": cost, "controls": u}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 20, "T": 50}, small={"I": 3, "T": 5})
