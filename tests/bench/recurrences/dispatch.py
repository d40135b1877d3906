"""Steps that compute next to nothing, against one loop of XLA: what a step costs by itself."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.bench.compiled import BUILD, agree, ready
from tests.bench.measure import Row, side_by_side

STEPS = 10_000
TEXT = """
dim t < T
input x: f32
a[0] = x
a[t] = a[t-1] * 0.999 + 1.0 when t >= 1
output a[T-1] as a
"""
LOOPS = "canonicalize,fuse"
"""Passes that leave the loop to the runner and its regions."""


@jax.jit
def steps(x: jax.Array) -> jax.Array:
    """All steps but the first."""
    return lax.fori_loop(1, STEPS, lambda _, a: a * jnp.float32(0.999) + 1, x)


def dispatch() -> Iterator[Row]:
    """Seconds for a run."""
    BUILD.mkdir(parents=True, exist_ok=True)
    source = BUILD / "steps.rt"
    source.write_text(TEXT.lstrip())
    x = np.float32(0.5)
    for title, options in (("", ()), (", as a region", ("--passes", LOOPS))):
        program = ready(source, *options, bounds={"T": STEPS}, inputs={"x": x})

        def ours(program=program) -> np.ndarray:
            return program.often({"x": x})["a"]

        def theirs() -> np.ndarray:
            return np.asarray(steps(x))

        agree(lambda ours=ours: {"a": ours()}, {"a": theirs()})
        yield side_by_side(f"{STEPS} small steps{title}", ours, theirs, rounds=30)
