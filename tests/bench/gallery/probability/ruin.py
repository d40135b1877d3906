"""Rounds in a loop that ends when they are enough, each a scan over days with its gradient."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

State = tuple[jax.Array, ...]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Claims every other day, of 1 in the mean."""
    rng, shape = np.random.default_rng(0), (sizes["S"], sizes["P"], sizes["T"])
    claim = rng.exponential(1.0, shape).astype(np.float32)
    many = rng.poisson(0.5, shape).astype(np.int32)
    return {"claim": claim, "many": many}, {"premium": np.float32(0.56), "start": np.float32(5.0)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The mean over the rounds is taken after the loop, of sums."""

    def run(given: Tensors) -> Tensors:
        def paths(premium: jax.Array, s: jax.Array) -> tuple[jax.Array, jax.Array]:
            claim, many = given["claim"][s], given["many"][s]
            loss = (many * jnp.minimum(claim, 3.0 + 0.1 * jax.nn.relu(claim - 3.0))).T

            def day(r: jax.Array, loss: jax.Array) -> State:
                new = r * 1.0002 + premium - loss
                return new, new

            first = given["start"] + premium - loss[0]
            least = jnp.minimum(first, jax.lax.scan(day, first, loss[1:])[1].min(0))
            return jax.nn.sigmoid(-10.0 * least).mean(), (least < 0.0).sum()

        def more(state: State) -> jax.Array:
            return (state[0] < sizes["S"]) & ~(state[5] < 0.01)

        def another(state: State) -> State:
            s, hits, soft, slope, _, _ = state
            part = jax.value_and_grad(paths, has_aux=True)
            (ruin, ruined), by_premium = part(given["premium"], s)
            hits, n = hits + ruined, (s + 1) * sizes["P"]
            chance = hits / n
            error = jnp.sqrt(chance * (1.0 - chance) / n + 1e-6)
            return s + 1, hits, soft + ruin, slope + by_premium, chance, error

        zero = jnp.float32(0.0)
        state = jnp.int32(0), jnp.int32(0), zero, zero, zero, zero + 1.0
        s, _, soft, slope, chance, error = jax.lax.while_loop(more, another, state)
        return {"chance": chance, "error": error, "soft": soft / s, "slope": slope / s}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"S": 40, "P": 200, "T": 365},
    small={"S": 3, "P": 4, "T": 6},
)
