"""Recurrences over a whole sequence, against `lax.scan` and `lax.associative_scan` by hand."""

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

RETURNS = """
import rl
dim t < T
input r[t]: f32
input done[t]: bool
y = rl.returns(r, done, 0.0, t)
output y
"""
GAE = """
import rl
dim t < T
input r[t]: f32
input v[t]: f32
input done[t]: bool
y = rl.gae(r, v, done, 0.0, t)
output y
"""
LAYER = """
import ssm
dim t < T
input a[t]: f32[16]
input x[t]: f32[16]
y = ssm.recur(a, x, t)
output y
"""
Linear = Callable[[jax.Array, jax.Array], jax.Array]


def one_by_one(a: jax.Array, b: jax.Array, reverse: bool = False) -> jax.Array:
    """`h[t] = a[t] * h[t-1] + b[t]`, step by step."""

    def step(h: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        h = row[0] * h + row[1]
        return h, h

    return lax.scan(step, jnp.zeros_like(b[0]), (a, b), reverse=reverse)[1]


def in_pairs(a: jax.Array, b: jax.Array, reverse: bool = False) -> jax.Array:
    """The same in parallel."""

    def after(x: tuple[jax.Array, ...], y: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        return x[0] * y[0], y[0] * x[1] + y[1]

    return lax.associative_scan(after, (a, b), reverse=reverse)[1]


def returns(linear: Linear, r: jax.Array, done: jax.Array) -> jax.Array:
    """Discounted returns to the end of the episode."""
    return linear(jnp.where(done, 0.0, 0.99), r)


def gae(linear: Linear, r: jax.Array, v: jax.Array, done: jax.Array) -> jax.Array:
    """Generalized advantage estimation."""
    after = jnp.where(done, 0.0, 0.99)
    return linear(0.95 * after, r + after * jnp.append(v[1:], 0.0) - v)


def recurrences() -> Iterator[Row]:
    """Seconds for a run of each, against the better of the two."""
    random = np.random.default_rng(0)
    steps, layer = 4096, 16384
    r, v = random.uniform(-1, 1, (2, steps)).astype(np.float32)
    done = random.random(steps) < 0.02
    a, x = random.uniform(0.5, 1, (2, layer, 16)).astype(np.float32)
    yield _row(f"returns, {steps} steps", RETURNS, returns, {"r": r, "done": done}, True)
    yield _row(f"GAE, {steps} steps", GAE, gae, {"r": r, "v": v, "done": done}, True)
    inputs = {"a": a, "x": x}
    yield _row(f"diagonal layer, 16 x {layer} steps", LAYER, lambda f, a, x: f(a, x), inputs, False)


def _row(
    name: str, text: str, function: Callable[..., jax.Array], inputs: Arrays, reverse: bool
) -> Row:
    BUILD.mkdir(parents=True, exist_ok=True)
    source = BUILD / f"{name.split(',')[0].replace(' ', '_')}.rt"
    source.write_text(text.lstrip())
    bounds = {"T": len(next(iter(inputs.values())))}
    program = ready(source, bounds=bounds, inputs=inputs)

    def ours() -> Arrays:
        return {"y": np.asarray(program().outputs["y"])}

    ways = [
        jax.jit(partial(function, partial(way, reverse=reverse))) for way in (one_by_one, in_pairs)
    ]
    agree(ours, {"y": np.asarray(ways[0](*inputs.values()))})
    theirs = [partial(_run, way, inputs) for way in ways]
    mine, *others = (median(times) for times in in_turns([ours, *theirs], rounds=40))
    return Row(name=name, ours=mine, theirs=min(others))


def _run(way: Callable[..., jax.Array], inputs: Arrays) -> np.ndarray:
    return np.asarray(way(*inputs.values()))
