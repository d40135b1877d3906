"""Statistics of all steps so far, and of windows, against `jnp.cumsum` and `lax.reduce_window`.

Each is computed again and again from its own result, in one loop: what it costs to start a run
(0.1 ms beside the call of its kernel) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.bench.compiled import BUILD, agree, ready
from tests.bench.measure import Row, per_step

STEPS, WIDTH = 4096, 32
HEAD = f"""dim i < I
dim t < T
input x[t]: f32[{WIDTH}]
z[0, t] = x[t]
z[i+1, t] = tanh(s[i, t])
output z[I-1, 0:T] as z
"""
SUMS = "s = sum(z[t = 0:t+1], axis = 0)"
STATISTICS = """
m = mean(z[t = 0:t+1], axis = 0)
s = mean(z[t = 0:t+1] ** 2, axis = 0) - m ** 2 + max(z[t = 0:t+1], axis = 0)
"""
STILL = "s = sum(z[t = t:T], axis = 0) + min(z[t = t:T], axis = 0)"
WINDOWS = """
s = sum(z[t = max(0, t-4):t+1], axis = 0) + max(z[t = max(0, t-99):t+1], axis = 0)
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
    """Seconds for each once more."""
    x = np.random.default_rng(0).uniform(-1, 1, (STEPS, WIDTH)).astype(np.float32)
    about = f"{WIDTH} x {STEPS} steps"
    yield _row(f"running sums, {about}", SUMS, lambda z: jnp.cumsum(z, axis=0), x)
    yield _row(f"mean, variance, maximum, {about}", STATISTICS, statistics, x)
    yield _row(f"sum and minimum to come, {about}", STILL, still, x)
    yield _row(f"windows of 5 and 100, {about}", WINDOWS, windows, x)


def _row(name: str, text: str, function: Function, x: np.ndarray) -> Row:
    BUILD.mkdir(parents=True, exist_ok=True)
    source = BUILD / f"{name.split(',')[0].replace(' ', '_')}.rt"
    source.write_text(f"{HEAD}{text.strip()}\n")
    program = ready(source, bounds={"T": len(x)}, inputs={"x": x})

    @jax.jit
    def again(z: jax.Array, times: jax.Array) -> jax.Array:
        return lax.fori_loop(0, times, lambda _, z: jnp.tanh(function(z)), z)

    def ours(times: int) -> np.ndarray:
        return np.asarray(program(I=times + 1).outputs["z"])

    def theirs(times: int) -> np.ndarray:
        return np.asarray(again(x, times))

    agree(lambda: {"z": ours(3)}, {"z": theirs(3)})
    mine, other = per_step(ours, theirs, few=4, many=24, rounds=15)
    return Row(name=name, ours=mine, theirs=other)
