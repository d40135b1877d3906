"""Recurrences over a whole sequence, against `lax.scan` and `lax.associative_scan` by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.bench.compiled import BUILD, Arrays, Ready, agree, ready
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
    """Seconds for a run of each, against the better of the two, and for a further step."""
    for name, text, function, draw, reverse, few, many in (
        ("returns", RETURNS, returns, _rewards, True, 4096, 262144),
        ("GAE", GAE, gae, _values, True, 4096, 262144),
        ("diagonal layer, width 16", LAYER, lambda f, a, x: f(a, x), _layer, False, 16384, 131072),
    ):
        yield from _rows(name, text, function, draw, reverse, few, many)


def _rewards(random: np.random.Generator, steps: int) -> Arrays:
    return {"r": random.uniform(-1, 1, steps).astype("f4"), "done": random.random(steps) < 0.02}


def _values(random: np.random.Generator, steps: int) -> Arrays:
    r, v = random.uniform(-1, 1, (2, steps)).astype("f4")
    return {"r": r, "v": v, "done": random.random(steps) < 0.02}


def _layer(random: np.random.Generator, steps: int) -> Arrays:
    a, x = random.uniform(0.5, 1, (2, steps, 16)).astype("f4")
    return {"a": a, "x": x}


def _rows(
    name: str,
    text: str,
    function: Callable[..., jax.Array],
    draw: Callable[[np.random.Generator, int], Arrays],
    reverse: bool,
    few: int,
    many: int,
) -> Iterator[Row]:
    BUILD.mkdir(parents=True, exist_ok=True)
    source = BUILD / f"{name.split(',')[0].replace(' ', '_')}.rt"
    source.write_text(text.lstrip())
    ways = [
        jax.jit(partial(function, partial(way, reverse=reverse))) for way in (one_by_one, in_pairs)
    ]
    found = []
    for steps in (few, many):
        inputs = draw(np.random.default_rng(0), steps)
        program = ready(source, bounds={"T": steps}, inputs=inputs)
        ours = partial(_ours, program)
        agree(ours, _theirs(ways[0], inputs))
        theirs = [partial(_theirs, way, inputs) for way in ways]
        found.append([median(times) for times in in_turns([ours, *theirs], rounds=30)])
    short, long = found
    yield Row(name=f"{name}, {few} steps", ours=short[0], theirs=min(short[1:]))
    further = [(b - a) / (many - few) for a, b in zip(short, long, strict=True)]
    yield Row(name=f"{name}, a further step", ours=further[0], theirs=min(further[1:]))


def _ours(program: Ready) -> Arrays:
    return {"y": program.often(program.inputs)["y"]}


def _theirs(way: Callable[..., jax.Array], inputs: Arrays) -> Arrays:
    return {"y": np.asarray(way(*inputs.values()))}
