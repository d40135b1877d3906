"""A `lax.scan` with rings of as many keys and values as attention reads."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

D, H, FIRST, WINDOW, WORDS = 64, 4, 4, 60, 80
SHAPES = {
    "table": (WORDS, D),
    "w.q": (D, D),
    "w.k": (D, D),
    "w.v": (D, D),
    "w.out": (D, D),
    "mlp.up": (2 * D, D),
    "mlp.down": (D, 2 * D),
    "norm.attention": (D,),
    "norm.mlp": (D,),
}
State = tuple[jax.Array, jax.Array, jax.Array]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """First words, and the noise that draws the others."""
    random = np.random.default_rng(0)
    start = random.integers(0, WORDS, sizes["B"]).astype(np.int32)
    noise = random.gumbel(size=(sizes["T"], sizes["B"], WORDS)).astype(np.float32)
    return {"start": start, "noise": noise}, {
        name: random.standard_normal(shape).astype(np.float32) / shape[-1] ** 0.5
        for name, shape in SHAPES.items()
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The first slots stay, the others are a ring; what is not written yet is masked."""
    batch, length = sizes["B"], sizes["T"]

    def run(given: Tensors) -> Tensors:
        def norm(x: jax.Array, name: str) -> jax.Array:
            return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * given[name]

        def rope(x: jax.Array, at: jax.Array) -> jax.Array:
            half = x.shape[-1] // 2
            angle = at * 10000.0 ** (-jnp.arange(half) / half)
            sin, cos = jnp.sin(angle), jnp.cos(angle)
            low, high = jnp.split(x, 2, axis=-1)
            return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], -1)

        def step(s: State, given_now: tuple[jax.Array, jax.Array]) -> tuple[State, jax.Array]:
            word, keys, values = s
            at, noise = given_now
            slot = jnp.where(at < FIRST, at, FIRST + (at - FIRST) % WINDOW)
            x = given["table"][word]
            n = norm(x, "norm.attention")
            q, k, v = ((n @ given[f"w.{m}"].T).reshape(batch, H, -1) for m in ("q", "k", "v"))
            keys, values = keys.at[slot].set(rope(k, at)), values.at[slot].set(v)
            scores = jnp.einsum("bhd,sbhd->bhs", rope(q, at), keys) / (D // H) ** 0.5
            weight = jax.nn.softmax(jnp.where(jnp.arange(FIRST + WINDOW) <= at, scores, -jnp.inf))
            y = x + jnp.einsum("bhs,sbhd->bhd", weight, values).reshape(batch, D) @ given["w.out"].T
            n = norm(y, "norm.mlp")
            z = y + jax.nn.silu(n @ given["mlp.up"].T) @ given["mlp.down"].T
            best = jnp.argmax(z @ given["table"].T + noise, -1).astype(jnp.int32)
            return (best, keys, values), word

        ring = jnp.zeros((FIRST + WINDOW, batch, H, D // H))
        steps = jnp.arange(length), given["noise"]
        return {"word": jax.lax.scan(step, (given["start"], ring, ring), steps)[1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 600, "B": 8}, small={"T": 71, "B": 2})
"""Words from a model of one layer that reads the first words and a window."""
