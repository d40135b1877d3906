"""A filter that learns, for each channel a scan over samples."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

TAPS = 128


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise that is heard, and noise."""
    random, shape = np.random.default_rng(0), (sizes["C"], sizes["T"])
    return {name: random.normal(size=shape).astype(np.float32) for name in "xd"}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The state is what was heard last and the filter, before and after the step."""

    def channel(x: jax.Array, d: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(
            state: tuple[jax.Array, jax.Array, jax.Array], given: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[jax.Array, jax.Array, jax.Array], jax.Array]:
            heard, w, _ = state
            heard = jnp.concatenate([given[0][None], heard[:-1]])
            e = given[1] - w @ heard
            return (heard, w + 0.5 * e * heard / (1e-3 + heard @ heard), w), e

        zero = jnp.zeros(TAPS)
        (_, _, last), e = jax.lax.scan(step, (zero, zero, zero), (x, d))
        return e, last

    def run(given: Tensors) -> Tensors:
        e, last = jax.vmap(channel)(given["x"], given["d"])
        return {"e": e, "filter": last}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"C": 8, "T": 4000}, small={"C": 2, "T": 3})
