"""The CTC loss of a batch of sequences, and its gradient: a scan over time in log space."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

NEVER = -1e9


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random logits, and labels of which some repeat."""
    random = np.random.default_rng(0)
    label = random.integers(1, sizes["K"], (sizes["B"], sizes["L"])).astype(np.int32)
    logits = random.standard_normal((sizes["B"], sizes["T"], sizes["K"])).astype(np.float32)
    return {"label": label}, {"logits": logits}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """All places of the label at once, step by step in time."""
    count = 2 * sizes["L"] + 1

    def losses(logits: jax.Array, label: jax.Array) -> jax.Array:
        blank = jnp.zeros_like(label)
        symbol = jnp.stack([blank, label], axis=-1).reshape(sizes["B"], -1)
        symbol = jnp.pad(symbol, ((0, 0), (0, 1)))
        repeated = symbol[:, 2:] == symbol[:, :-2]
        may_hop = (jnp.arange(2, count) % 2 == 1) & ~repeated
        hop = jnp.pad(jnp.where(may_hop, 0.0, NEVER), ((0, 0), (2, 0)), constant_values=NEVER)
        scores = jax.nn.log_softmax(logits)
        scores = jnp.take_along_axis(scores, symbol[:, None, :], axis=2).transpose(1, 0, 2)
        first = jnp.where(jnp.arange(count) < 2, scores[0], NEVER)

        def step(path: jax.Array, score: jax.Array) -> tuple[jax.Array, None]:
            one = jnp.pad(path[:, :-1], ((0, 0), (1, 0)), constant_values=NEVER)
            two = jnp.pad(path[:, :-2], ((0, 0), (2, 0)), constant_values=NEVER) + hop
            both = jnp.logaddexp(jnp.logaddexp(path, one), two)
            return both + score, None

        last, _ = jax.lax.scan(step, first, scores[1:])
        return -jnp.logaddexp(last[:, -1], last[:, -2])

    def run(given: Tensors) -> Tensors:
        def total(logits: jax.Array) -> tuple[jax.Array, jax.Array]:
            each = losses(logits, given["label"])
            return jnp.sum(each), each

        gradient, loss = jax.grad(total, has_aux=True)(given["logits"])
        return {"loss": loss, "gradient": gradient}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"B": 16, "L": 20, "T": 200, "K": 16},
    small={"B": 2, "L": 3, "T": 9, "K": 16},
    constants=("K",),
)
"""Blanks and labels in turn, as branches that take turns along the label."""
