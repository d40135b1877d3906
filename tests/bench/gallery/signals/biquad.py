"""Two biquad filters one after the other, as one `lax.scan` over all channels."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise, and two filters whose poles are inside the unit circle."""
    random = np.random.default_rng(0)
    x = random.standard_normal((sizes["C"], sizes["T"])).astype(np.float32)
    a = np.array([[-1.6, 0.8], [-0.9, 0.3]], np.float32)
    b = np.array([[0.2, 0.3, 0.2], [0.5, -0.2, 0.1]], np.float32)
    return {"x": x}, {"a": a, "b": b}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Both filters in one scan, with their last values as the state."""

    def run(given: Tensors) -> Tensors:
        a, b = given["a"], given["b"]

        def step(
            state: tuple[jax.Array, ...], x: jax.Array
        ) -> tuple[tuple[jax.Array, ...], jax.Array]:
            x1, x2, y1, y2, z1, z2 = state
            y = b[0, 0] * x + b[0, 1] * x1 + b[0, 2] * x2 - a[0, 0] * y1 - a[0, 1] * y2
            z = b[1, 0] * y + b[1, 1] * y1 + b[1, 2] * y2 - a[1, 0] * z1 - a[1, 1] * z2
            return (x, x1, y, y1, z, z1), z

        zeros = jnp.zeros(sizes["C"])
        _, z = jax.lax.scan(step, (zeros,) * 6, given["x"].T)
        return {"z": z.T, "energy": jnp.sum(z.T**2, axis=1)}

    return run


PAIR = Pair(in_tests=True, data=data, twin=twin, sizes={"C": 64, "T": 4096}, small={"C": 3, "T": 5})
