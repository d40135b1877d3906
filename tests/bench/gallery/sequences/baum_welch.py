"""Two scans, forwards and backwards, and counts as einsum and `segment_sum`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sequences of observations, and a model to start from."""
    random = np.random.default_rng(0)
    seen = random.integers(0, 16, (sizes["B"], sizes["T"])).astype(np.int32)

    def rows(*shape: int, axis: int = -1) -> np.ndarray:
        some = random.uniform(0.1, 1.0, shape)
        return (some / some.sum(axis, keepdims=True)).astype(np.float32)

    return {"seen": seen}, {"start": rows(8), "move": rows(8, 8), "emit": rows(16, 8, axis=0)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Forward and backward scans over the batch."""

    def run(given: Tensors) -> Tensors:
        move, seen = given["move"], given["seen"]
        likely = given["emit"][seen].swapaxes(0, 1)
        first = given["start"] * likely[0]
        first_scale = first.sum(1)

        def ahead(
            alpha: jax.Array, likely: jax.Array
        ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            raw = (alpha @ move) * likely
            scale = raw.sum(1)
            alpha = raw / scale[:, None]
            return alpha, (alpha, scale)

        alpha0 = first / first_scale[:, None]
        _, (alphas, scales) = jax.lax.scan(ahead, alpha0, likely[1:])

        def back(
            beta: jax.Array, row: tuple[jax.Array, jax.Array]
        ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            likely, scale = row
            weighed = likely * beta / scale[:, None]
            beta = weighed @ move.T
            return beta, (beta, weighed)

        last = jnp.ones_like(alpha0)
        _, (betas, weighed) = jax.lax.scan(back, last, (likely[1:], scales), reverse=True)
        alpha = jnp.concatenate([alpha0[None], alphas])
        state = alpha * jnp.concatenate([betas, last[None]])
        moves = move * jnp.einsum("tbi,tbj->ij", alpha[:-1], weighed)
        words = jax.ops.segment_sum(state.reshape(-1, 8), seen.T.reshape(-1), 16)
        return {
            "log_likelihood": jnp.log(first_scale).sum() + jnp.log(scales).sum(),
            "state": state.swapaxes(0, 1),
            "new_start": state[0].mean(0),
            "new_move": moves / moves.sum(1, keepdims=True),
            "new_emit": words / words.sum(0),
        }

    return run


PAIR = Pair(in_tests=False, data=data, twin=twin, sizes={"B": 32, "T": 256}, small={"B": 2, "T": 5})
"""Forward-backward and a step of expectation maximization for a hidden Markov model."""
