"""The torus as arrays that are rolled, in `lax.scan`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Drops of the second substance, a picture to come near to, and rates to begin with."""
    random = np.random.default_rng(0)
    shape = (sizes["H"], sizes["W"])
    inputs = {
        "u0": (1.0 - 0.1 * random.random(shape)).astype(np.float32),
        "v0": np.where(random.random(shape) < 0.1, 0.5, 0.0).astype(np.float32),
        "wanted": (0.3 * random.random(shape)).astype(np.float32),
    }
    return inputs, {"start.feed": np.float32(0.04), "start.kill": np.float32(0.06)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Backpropagation through the scan, in a scan over the descent."""
    Rates = tuple[jax.Array, jax.Array]

    def spread(a: jax.Array) -> jax.Array:
        around = [jnp.roll(a, step, axis) for step in (-1, 1) for axis in (0, 1)]
        return around[0] + around[1] + around[2] + around[3] - 4.0 * a

    def run(given: Tensors) -> Tensors:
        def error(rates: Rates) -> tuple[jax.Array, jax.Array]:
            feed, kill = rates

            def step(state: Rates, _: None) -> tuple[Rates, None]:
                u, v = state
                r = u * v * v
                after = u + 0.16 * spread(u) - r + feed * (1.0 - u)
                return (after, v + 0.08 * spread(v) + r - (feed + kill) * v), None

            state = (given["u0"], given["v0"])
            (_, v), _ = jax.lax.scan(step, state, length=sizes["T"] - 1)
            return jnp.mean((v - given["wanted"]) ** 2), v

        def learn(rates: Rates, _: None) -> tuple[Rates, tuple[jax.Array, Rates, jax.Array]]:
            (e, v), slope = jax.value_and_grad(error, has_aux=True)(rates)
            better = (rates[0] - 0.01 * slope[0], rates[1] - 0.01 * slope[1])
            return better, (e, rates, v)

        start = (given["start.feed"], given["start.kill"])
        _, (errors, rates, v) = jax.lax.scan(learn, start, length=sizes["I"])
        found = {"found.feed": rates[0][-1], "found.kill": rates[1][-1]}
        return {"error": errors, **found, "end": v[-1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 10, "T": 100, "H": 48, "W": 48},
    small={"I": 2, "T": 3, "H": 5, "W": 4},
    constants=("H", "W"),
)
