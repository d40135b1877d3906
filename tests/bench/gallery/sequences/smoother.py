"""Two scans under `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Points that move in a plane, seen with noise."""
    random = np.random.default_rng(0)
    y = np.cumsum(random.standard_normal((sizes["B"], sizes["T"], 2)), axis=1) * 0.1
    move = np.eye(4) + 0.1 * np.eye(4, k=2)
    given = {"F": move, "H": np.eye(2, 4), "Q": 0.01 * np.eye(4), "R": 0.1 * np.eye(2)}
    return {"y": y.astype(np.float32)}, {k: v.astype(np.float32) for k, v in given.items()}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One track, mapped."""

    def track(y: jax.Array, F: jax.Array, H: jax.Array, Q: jax.Array, R: jax.Array) -> Any:
        def forwards(prior: Any, y: jax.Array) -> Any:
            m, P = prior
            S = H @ P @ H.T + R
            K = jnp.linalg.solve(S, H @ P).T
            wrong = y - H @ m
            likely = wrong @ jnp.linalg.solve(S, wrong) + jnp.linalg.slogdet(S)[1]
            m2, P2 = m + K @ wrong, (jnp.eye(4) - K @ H) @ P
            return (F @ m2, F @ P2 @ F.T + Q), (m, P, m2, P2, likely)

        def backwards(after: Any, given: Any) -> Any:
            m, P, m2, P2 = given
            G = jnp.linalg.solve(P, F @ P2).T
            # `m, P` are the prior of the step after this one.
            return (here := (m2 + G @ (after[0] - m), P2 + G @ (after[1] - P) @ G.T)), here

        _, (m, P, m2, P2, likely) = jax.lax.scan(forwards, (jnp.zeros(4), jnp.eye(4)), y)
        last = m2[-1], P2[-1]
        _, (sm, sp) = jax.lax.scan(backwards, last, (m[1:], P[1:], m2[:-1], P2[:-1]), reverse=True)
        sm, sp = jnp.append(sm, last[0][None], 0), jnp.append(sp, last[1][None], 0)
        return sm, sp, jnp.sum(likely)

    def run(given: Tensors) -> Tensors:
        m, P, likely = jax.vmap(track, (0, None, None, None, None))(
            given["y"], given["F"], given["H"], given["Q"], given["R"]
        )
        return {"smooth.m": m, "smooth.P": P, "likelihood": -0.5 * likely.sum()}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 32, "T": 200}, small={"B": 2, "T": 4})
