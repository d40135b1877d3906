"""A tanh network of 2048 steps, against `jax.lax.scan`."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import agree, ready
from tests.bench.measure import Row, side_by_side


def rnn() -> Iterator[Row]:
    """Seconds for a run of a tanh network, 2048 steps, widths 32 and 256."""
    for width in (32, 256):
        yield _run(width, 2048)


def _run(width: int, steps: int) -> Row:
    random = np.random.default_rng(0)
    weights = {
        name: (random.standard_normal(shape) / np.sqrt(width)).astype(np.float32)
        for name, shape in (
            ("input.weight", (width, width)),
            ("state.weight", (width, width)),
            ("bias", (width,)),
        )
    }
    xs = random.standard_normal((steps, width)).astype(np.float32)
    program = ready(
        "examples/05_rnn.rt", "-D", f"D={width}", "-D", f"H={width}",
        inputs={"x": xs}, params=weights,
    )  # fmt: skip
    device = {name: jnp.array(value) for name, value in weights.items()}

    @jax.jit
    def scan(w: dict[str, jax.Array], xs: jax.Array) -> jax.Array:
        def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = jnp.tanh(w["input.weight"] @ x + w["state.weight"] @ h + w["bias"])
            return h, h

        return jax.lax.scan(step, jnp.zeros(width), xs)[1]

    def theirs() -> np.ndarray:
        return np.asarray(scan(device, jnp.array(xs)))

    agree(lambda: program().outputs, {"h": theirs()})
    return side_by_side(f"tanh rnn {width}, {steps} steps", program, theirs, rounds=9)
