"""All chains in one `lax.scan`; statistics after it, from what it kept."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Proposals and acceptances of all chains."""
    random = np.random.default_rng(0)
    t, c = sizes["T"], sizes["C"]
    z = random.standard_normal((t, c, 2)).astype(np.float32)
    u = random.random((t, c)).astype(np.float32)
    return {"z": z, "u": u, "start": random.standard_normal((c, 2)).astype(np.float32)}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The density of where a chain is, is carried with it."""
    State = tuple[jax.Array, jax.Array]

    def density(x: jax.Array) -> jax.Array:
        first, second = x[:, 0], x[:, 1]
        return -0.5 * first**2 / 4 - 0.5 * ((second - 0.5 * first**2) / 0.5) ** 2

    def run(given: Tensors) -> Tensors:
        def step(
            state: State, given: tuple[jax.Array, jax.Array]
        ) -> tuple[State, tuple[jax.Array, jax.Array]]:
            x, here = state
            z, log_u = given
            other = x + 0.6 * z
            there = density(other)
            yes = log_u < there - here
            after = (jnp.where(yes[:, None], other, x), jnp.where(yes, there, here))
            return after, (x, yes)

        start = given["start"]
        pairs = (given["z"], jnp.log(given["u"]))
        _, (x, yes) = jax.lax.scan(step, (start, density(start)), pairs)
        x = x[10:]
        center = jnp.mean(x, axis=(0, 1))
        variance = jnp.mean((x - center) ** 2, axis=(0, 1))
        lag = jnp.mean((x[:-1] - center) * (x[1:] - center), axis=(0, 1)) / variance
        rate = jnp.mean(yes.astype(jnp.float32), axis=0)
        return {"center": center, "variance": variance, "lag": lag, "rate": rate}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 1000, "C": 64}, small={"T": 14, "C": 3})
