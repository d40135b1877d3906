"""The convolution by Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise."""
    random = np.random.default_rng(0)
    x = random.standard_normal((sizes["T"], sizes["B"], 32))
    params = {
        "w": 0.2 * random.standard_normal((3, 32, 32)),
        "decay": random.uniform(1, 9, 32),
        "wave": random.standard_normal((8, 32)),
    }
    return {"x": x.astype(np.float32)}, {k: v.astype(np.float32) for k, v in params.items()}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """As in the paper's code."""
    steps = sizes["T"]

    def run(given: Tensors) -> Tensors:
        x, decay = given["x"], given["decay"]

        def total(w: jax.Array, wave: jax.Array) -> tuple[jax.Array, jax.Array]:
            q, k, v = (x @ m.T for m in w)
            t = jnp.arange(steps)[:, None] / steps
            taps = jnp.exp(-decay * t) * (jnp.sin(jnp.arange(8.0) * t) @ wave)
            spectrum = jnp.fft.rfft(taps, 2 * steps, axis=0)[:, None]
            mixed = jnp.fft.irfft(jnp.fft.rfft(q * k, 2 * steps, axis=0) * spectrum, axis=0)
            y = v * mixed[:steps]
            return jnp.mean(jnp.sum(y * y, -1)), y

        slopes = jax.value_and_grad(total, (0, 1), has_aux=True)
        (_, y), (gw, gwave) = slopes(given["w"], given["wave"])
        return {"y": y, "gw": gw, "gwave": gwave}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 512, "B": 8}, small={"T": 5, "B": 2}, in_tests=False)
