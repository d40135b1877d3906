"""Statistics of all steps so far, and of windows, against `jnp.cumsum` and `lax.reduce_window`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.bench.compiled import BUILD, Arrays, agree, ready
from tests.bench.measure import Row, in_turns

STEPS, WIDTH = 4096, 32
SUMS = "s = sum(x[0:t+1], axis = 0)"
STATISTICS = """
m = mean(x[0:t+1], axis = 0)
s = mean(x[0:t+1] ** 2, axis = 0) - m ** 2 + max(x[0:t+1], axis = 0)
"""
STILL = "s = sum(x[t:T], axis = 0) + min(x[t:T], axis = 0)"
WINDOWS = """
s = sum(x[max(0, t-4):t+1], axis = 0) + max(x[max(0, t-99):t+1], axis = 0)
"""
Function = Callable[[jax.Array], jax.Array]


def statistics(x: jax.Array) -> jax.Array:
    """Variance by its definition, and the greatest so far."""
    count = jnp.arange(1, x.shape[0] + 1, dtype=x.dtype)[:, None]
    m = jnp.cumsum(x, axis=0) / count
    return jnp.cumsum(x**2, axis=0) / count - m**2 + lax.cummax(x, axis=0)


def still(x: jax.Array) -> jax.Array:
    """What is to come."""
    return jnp.cumsum(x[::-1], axis=0)[::-1] + lax.cummin(x, axis=0, reverse=True)


def windows(x: jax.Array) -> jax.Array:
    """5 and 100 steps."""
    return _window(x, lax.add, 5, 0.0) + _window(x, lax.max, 100, -jnp.inf)


def _window(x: jax.Array, two: Callable[..., jax.Array], size: int, empty: float) -> jax.Array:
    zero = np.float32(empty)
    return lax.reduce_window(x, zero, two, (size, 1), (1, 1), [(size - 1, 0), (0, 0)])


def cumulative() -> Iterator[Row]:
    """Seconds for a run of each."""
    x = np.random.default_rng(0).uniform(-1, 1, (STEPS, WIDTH)).astype(np.float32)
    about = f"{WIDTH} x {STEPS} steps"
    yield _row(f"running sums, {about}", SUMS, lambda x: jnp.cumsum(x, axis=0), x)
    yield _row(f"running mean, variance, maximum, {about}", STATISTICS, statistics, x)
    yield _row(f"sum and minimum to come, {about}", STILL, still, x)
    yield _row(f"windows of 5 and 100, {about}", WINDOWS, windows, x)


def _row(name: str, text: str, function: Function, x: np.ndarray) -> Row:
    BUILD.mkdir(parents=True, exist_ok=True)
    source = BUILD / f"{name.split(',')[0].replace(' ', '_')}.rt"
    head = f"dim t < T\ninput x[t]: f32[{WIDTH}]\n"
    source.write_text(f"{head}{text.strip()}\noutput s\n")
    program = ready(source, bounds={"T": len(x)}, inputs={"x": x})

    def ours() -> Arrays:
        return {"s": np.asarray(program().outputs["s"])}

    theirs = partial(_run, jax.jit(function), x)
    agree(ours, {"s": theirs()})
    mine, other = (median(times) for times in in_turns([ours, theirs], rounds=40))
    return Row(name=name, ours=mine, theirs=other)


def _run(function: Function, x: np.ndarray) -> np.ndarray:
    return np.asarray(function(x))
