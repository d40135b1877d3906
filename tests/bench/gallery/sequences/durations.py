"""A scan over a ring of the last few steps."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree

S, D = 12, 8


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random probabilities."""
    random = np.random.default_rng(0)
    seen = random.standard_normal((sizes["T"], sizes["B"]))
    params = {
        "start": np.log(random.dirichlet(np.ones(S))),
        "move": np.log(random.dirichlet(np.ones(S), S)),
        "last": np.log(random.dirichlet(np.ones(D), S)).T,
        "mean_": random.standard_normal(S),
    }
    return {"seen": seen.astype(np.float32)}, {k: v.astype(np.float32) for k, v in params.items()}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """What has not begun is minus infinity."""

    def run(given: Tensors) -> Tensors:
        seen, start = given["seen"], given["start"]

        def total(move: jax.Array, last: jax.Array, mean: jax.Array) -> tuple[jax.Array, jax.Array]:
            emit = -0.5 * (seen[..., None] - mean) ** 2
            so_far = jnp.cumsum(emit, 0)
            earlier = jnp.pad(so_far, ((1, 0), (0, 0), (0, 0)))[:-1]

            def step(state: Tree, given: tuple[jax.Array, jax.Array]) -> tuple[Tree, None]:
                ring, begins = state
                so_far, earlier = given
                ring = jnp.concatenate([(begins - earlier)[None], ring[:-1]])
                ends = so_far + logsumexp(ring + last[:, None], 0)
                return (ring, logsumexp(ends[:, :, None] + move, 1)), ends

            count = seen.shape[1]
            ring = jnp.full((D, count, S), -1e30)
            first = jnp.broadcast_to(start, (count, S))
            _, ends = jax.lax.scan(step, (ring, first), (so_far, earlier))
            likelihood = logsumexp(ends[-1], -1)
            return likelihood.mean(), likelihood

        slopes = jax.value_and_grad(total, (0, 1, 2), has_aux=True)
        (_, likelihood), found = slopes(given["move"], given["last"], given["mean_"])
        return {
            "likelihood": likelihood,
            **dict(zip(("gmove", "glast", "gmean"), found, strict=True)),
        }

    return run


PAIR = Pair(
    data=data, twin=twin, sizes={"T": 200, "B": 16}, small={"T": 11, "B": 2}, in_tests=False
)
