"""A loss after attention to the last 256 of 4096 positions with its gradient, against JAX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.attention import windows_jax
from tests.bench.compiled import ready
from tests.bench.measure import Row, side_by_side

SOURCE = Path(__file__).with_name("windows.rt")
STEPS, WIDTH = 4096, 64


def windows() -> Iterator[Row]:
    """A whole run, to blocks by hand and to all scores with a mask."""
    random = np.random.default_rng(0)
    x = random.standard_normal((STEPS, WIDTH)).astype(np.float32)
    weights = {
        name: (random.standard_normal((WIDTH, WIDTH)) / 8).astype(np.float32)
        for name in windows_jax.WEIGHTS
    }
    program = ready(SOURCE, inputs={"x": x}, params=weights)
    given = {name: jnp.array(value) for name, value in weights.items()}, jnp.array(x)

    def ours() -> dict[str, np.ndarray]:
        return program(T=STEPS).outputs

    for name, attention in (("blocks", windows_jax.in_blocks), ("a mask", windows_jax.masked)):
        run = windows_jax.gradients(attention)
        found, (loss, by) = ours(), run(*given)
        np.testing.assert_allclose(found["loss"], loss, rtol=1e-4)
        for weight, value in by.items():
            np.testing.assert_allclose(found[f"d{weight[1:]}"], value, rtol=1e-2, atol=1e-5)
        theirs = lambda run=run: jax.block_until_ready(run(*given))  # noqa: E731
        yield side_by_side(f"windows of 256 in {STEPS}, to {name}", ours, theirs)
