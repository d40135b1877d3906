"""All bodies at once, in `lax.scan` over steps."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A cloud of bodies."""
    random = np.random.default_rng(0)
    count = sizes["P"]
    x0 = random.standard_normal((count, 3)).astype(np.float32)
    v0 = 0.3 * random.standard_normal((count, 3)).astype(np.float32)
    return {"x0": x0, "v0": v0, "m": random.random(count).astype(np.float32) / count}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The acceleration of the last step is carried."""

    def run(given: Tensors) -> Tensors:
        m = given["m"]

        def acceleration(x: jax.Array) -> jax.Array:
            d = x[None] - x[:, None]
            pull = m / (jnp.sum(d**2, axis=-1) + 0.05) ** 1.5
            return jnp.einsum("pq,pqk->pk", pull, d)

        def step(
            state: tuple[jax.Array, jax.Array, jax.Array], _: None
        ) -> tuple[tuple[jax.Array, jax.Array, jax.Array], jax.Array]:
            x, v, a = state
            kinetic = jnp.sum(0.5 * m * jnp.sum(v**2, axis=-1))
            half = v + 0.005 * a
            x2 = x + 0.01 * half
            a = acceleration(x2)
            return (x2, half + 0.005 * a, a), kinetic

        x, v = given["x0"], given["v0"]
        start = (x, v, acceleration(x))
        (x, v, _), kinetic = jax.lax.scan(step, start, length=sizes["T"] - 1)
        last = jnp.sum(0.5 * m * jnp.sum(v**2, axis=-1))
        return {"kinetic": jnp.concatenate([kinetic, last[None]]), "last": x}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 300, "P": 64}, small={"T": 4, "P": 5})
