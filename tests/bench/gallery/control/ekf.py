"""A scan forwards and one backwards, under `jax.vmap` over the batch."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noisy sines of angles."""
    random = np.random.default_rng(0)
    t = 0.05 * np.arange(sizes["T"])
    seen = np.sin(np.cos(3 * t) + 0.1 * random.standard_normal((sizes["B"], sizes["T"])))
    return {"seen": seen.astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The filter keeps what the smoother needs."""
    dt, noise = 0.05, 0.01 * 0.05 * jnp.eye(2)
    State = tuple[jax.Array, jax.Array]

    def jacobian(x: jax.Array) -> jax.Array:
        return jnp.array([[1.0, dt], [-9.8 * dt * jnp.cos(x[0]), 1.0]])

    def forwards(state: State, y: jax.Array) -> tuple[State, tuple[jax.Array, ...]]:
        guess, cov = state
        h = jnp.array([jnp.cos(guess[0]), 0.0])
        spread = h @ cov @ h + 0.1
        gain = cov @ h / spread
        surprise = y - jnp.sin(guess[0])
        now, now_cov = guess + gain * surprise, cov - jnp.outer(gain, h @ cov)
        f = jacobian(now)
        ahead = jnp.array([now[0] + dt * now[1], now[1] - 9.8 * dt * jnp.sin(now[0])])
        ahead_cov = f @ now_cov @ f.T + noise
        score = -0.5 * (surprise**2 / spread + jnp.log(spread))
        return (ahead, ahead_cov), (now, now_cov, f, ahead, ahead_cov, score)

    def backwards(state: State, given: tuple[jax.Array, ...]) -> tuple[State, State]:
        smooth, smooth_cov = state
        now, now_cov, f, ahead, ahead_cov = given
        (a, b), (c, d) = ahead_cov
        g = now_cov @ f.T @ (jnp.array([[d, -b], [-c, a]]) / (a * d - b * c))
        state = (now + g @ (smooth - ahead), now_cov + g @ (smooth_cov - ahead_cov) @ g.T)
        return state, state

    def one(seen: jax.Array) -> Tensors:
        start = (jnp.array([1.0, 0.0]), jnp.eye(2))
        _, (now, now_cov, *rest, score) = jax.lax.scan(forwards, start, seen)
        kept = jax.tree.map(lambda x: x[:-1], (now, now_cov, *rest))
        end = (now[-1], now_cov[-1])
        _, (smooth, cov) = jax.lax.scan(backwards, end, kept, reverse=True)
        return {
            "smooth": jnp.concatenate([smooth, end[0][None]]),
            "smooth_cov": jnp.concatenate([cov, end[1][None]]),
            "likelihood": jnp.sum(score),
        }

    return lambda given: jax.vmap(one)(given["seen"])


PAIR = Pair(data=data, twin=twin, sizes={"B": 32, "T": 500}, small={"B": 2, "T": 5})
