"""A sweep is a step of a scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Points around five centres, and all draws."""
    random = np.random.default_rng(0)
    n, i = sizes["N"], sizes["I"]
    centres = random.uniform(-5, 5, (5, 2))
    x = centres[random.integers(0, 5, n)] + random.standard_normal((n, 2))
    gumbel = random.gumbel(size=(i, n, 5))
    noise = random.standard_normal((i, 5, 2))
    inputs = {"x": x, "gumbel": gumbel, "noise": noise}
    start = random.uniform(-5, 5, (5, 2)).astype(np.float32)
    return {k: v.astype(np.float32) for k, v in inputs.items()}, {"start": start}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Sums of members are a product with `one_hot`."""

    def run(given: Tensors) -> Tensors:
        x = given["x"]

        def sweep(
            mu: jax.Array, drawn: tuple[jax.Array, jax.Array]
        ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            gumbel, noise = drawn
            far = jnp.sum((x[:, None] - mu) ** 2, -1)
            z = jnp.argmax(-0.5 * far + gumbel, -1)
            member = jax.nn.one_hot(z, 5)
            precision = member.sum(0)[:, None] + 0.1
            return member.T @ x / precision + noise / jnp.sqrt(precision), (mu, z)

        _, (mu, z) = jax.lax.scan(sweep, given["start"], (given["gumbel"], given["noise"]))
        return {"mu": mu, "last": z[-1].astype(jnp.int32)}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 200, "N": 1000}, small={"I": 3, "N": 6})
