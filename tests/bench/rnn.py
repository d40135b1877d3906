"""A tanh network step by step, against `jax.lax.scan`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from tests.bench.compiled import BUILD, compile_program, run_program
from tests.bench.measure import Row, per_step


def rnn() -> Iterator[Row]:
    """Seconds for a step of a tanh network, 2048 steps, width 256."""
    width, few, many = 256, 256, 256 + 2048
    random = np.random.default_rng(0)
    weights = {
        name: (random.standard_normal(shape) / 16).astype(np.float32)
        for name, shape in (
            ("input.weight", (width, width)),
            ("state.weight", (width, width)),
            ("bias", (width,)),
        )
    }
    out = compile_program("examples/05_rnn.rt", "rnn", "-D", f"D={width}", "-D", f"H={width}")
    file = BUILD / "rnn.safetensors"
    save_file(weights, file)
    xs = random.standard_normal((many, width)).astype(np.float32)
    device = {name: jnp.array(value) for name, value in weights.items()}

    @jax.jit
    def scan(w: dict[str, jax.Array], xs: jax.Array) -> jax.Array:
        def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = jnp.tanh(w["input.weight"] @ x + w["state.weight"] @ h + w["bias"])
            return h, h

        return jax.lax.scan(step, jnp.zeros(width), xs)[1]

    def ours(steps: int) -> np.ndarray:
        return run_program(out, {"x": xs[:steps]}, Path(file))["h"]

    def theirs(steps: int) -> np.ndarray:
        return np.asarray(scan(device, jnp.array(xs[:steps])))

    np.testing.assert_allclose(ours(few), theirs(few), rtol=1e-3, atol=1e-4)
    mine, other = per_step(ours, theirs, few=few, many=many, rounds=5)
    yield Row(name="tanh rnn 256, 2048 steps, per step", ours=mine, theirs=other)
