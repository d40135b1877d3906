"""Products of matrices as they are written, which is not the order that costs least.

JAX multiplies in the order that it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import BUILD, agree, ready
from tests.bench.measure import Row, in_turns

STEPS, WIDTH = 512, 64
WEIGHTS = f"""dim t < T
input A: f32[{WIDTH}, {WIDTH}]
input B: f32[{WIDTH}, {WIDTH}]
input x[t]: f32[{WIDTH}, {WIDTH}]
y = A @ (B @ x)
output y
"""
VARYING = f"""dim t < T
input A[t]: f32[{WIDTH}, {WIDTH}]
input B[t]: f32[{WIDTH}, {WIDTH}]
input x[t]: f32[{WIDTH}]
y = (A @ B) @ x
output y
"""


def chains() -> Iterator[Row]:
    """Seconds for all steps."""
    random = np.random.default_rng(0)
    many, one = (STEPS, WIDTH, WIDTH), (WIDTH, WIDTH)
    shapes = {"A": one, "B": one, "x": many}
    yield _row(
        "A @ (B @ x) for weights A and B",
        WEIGHTS,
        jax.vmap(lambda A, B, x: A @ (B @ x), (None, None, 0)),
        _arrays(random, shapes),
    )
    shapes = {"A": many, "B": many, "x": many[:2]}
    yield _row(
        "(A @ B) @ x for A and B of each step",
        VARYING,
        jax.vmap(lambda A, B, x: (A @ B) @ x),
        _arrays(random, shapes),
    )


def _arrays(
    random: np.random.Generator, shapes: dict[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    return {
        name: (random.standard_normal(shape) / WIDTH**0.5).astype(np.float32)
        for name, shape in shapes.items()
    }


def _row(
    name: str, text: str, function: Callable[..., jax.Array], inputs: dict[str, np.ndarray]
) -> Row:
    BUILD.mkdir(parents=True, exist_ok=True)
    source = BUILD / f"chain{len(text)}.rt"
    source.write_text(text)
    program = ready(source, bounds={"T": STEPS}, inputs=inputs)
    written = jax.jit(function)

    def ours() -> np.ndarray:
        return np.asarray(program().outputs["y"])

    def theirs() -> np.ndarray:
        return np.asarray(written(*(jnp.asarray(inputs[k]) for k in ("A", "B", "x"))))

    agree(lambda: {"y": ours()}, {"y": theirs()})
    mine, other = map(median, in_turns((ours, theirs), rounds=15))
    return Row(name=name, ours=mine, theirs=other)
