"""One `lax.scan` over trials, with the best state in the carry."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Couplings of a spin glass, and which spins are tried."""
    random = np.random.default_rng(0)
    n, t, b = sizes["N"], sizes["T"], sizes["B"]
    j = random.standard_normal((n, n)) / n**0.5
    j = np.triu(j, 1) + np.triu(j, 1).T
    inputs = {
        "J": j.astype(np.float32),
        "start": np.where(random.random((b, n)) < 0.5, 1.0, -1.0).astype(np.float32),
        "which": random.integers(n, size=(t, b)).astype(np.int32),
        "u": random.random((t, b)).astype(np.float32),
    }
    return inputs, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Spins are turned with a scatter."""
    State = tuple[jax.Array, jax.Array, jax.Array, jax.Array]
    rows = np.arange(sizes["B"])

    def run(given: Tensors) -> Tensors:
        j = given["J"]

        def step(state: State, given: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[State, None]:
            s, e, best, least = state
            t, which, u = given
            spin = s[rows, which]
            rise = 2 * spin * jnp.sum(j[which] * s, axis=1)
            yes = u < jnp.exp(-rise / (3.0 * (1 - t / sizes["T"]) + 0.05))
            s = s.at[rows, which].set(jnp.where(yes, -spin, spin))
            e = jnp.where(yes, e + rise, e)
            best = jnp.where((e < least)[:, None], s, best)
            return (s, e, best, jnp.minimum(e, least)), None

        s = given["start"]
        e = -0.5 * jnp.einsum("bi,ij,bj->b", s, j, s)
        last = sizes["T"] - 1
        xs = (jnp.arange(last, dtype=jnp.float32), given["which"][:last], given["u"][:last])
        (_, e, best, least), _ = jax.lax.scan(step, (s, e, s, e), xs)
        return {"last": e, "best.s": best, "best.e": least}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"T": 1000, "B": 32, "N": 64},
    small={"T": 7, "B": 3, "N": 6},
    constants=("N",),
)
