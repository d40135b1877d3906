"""A prefill on whole arrays, then a `lax.scan` with padded caches."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SHAPES = {
    "table": (500, 128),
    "norm.attention": (128,),
    "norm.mlp": (128,),
    "norm.out": (128,),
    "w.q": (128, 128),
    "w.k": (128, 128),
    "w.v": (128, 128),
    "w.out": (128, 128),
    "mlp.gate": (256, 128),
    "mlp.up": (256, 128),
    "mlp.down": (128, 256),
}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Prompts and a small model."""
    random = np.random.default_rng(0)
    prompt = random.integers(0, 500, (sizes["B"], sizes["P"])).astype(np.int32)
    return {"prompt": prompt}, {
        name: random.standard_normal(shape).astype(np.float32) / (11 if len(shape) > 1 else 1)
        for name, shape in SHAPES.items()
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Prompts at once with a causal mask, then one word after the other."""
    batch, first, length = sizes["B"], sizes["P"], sizes["T"]

    def run(given: Tensors) -> Tensors:
        def norm(x: jax.Array, name: str) -> jax.Array:
            return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * given[name]

        def rope(x: jax.Array, at: jax.Array) -> jax.Array:
            angle = (at[:, None] * 10000.0 ** (-jnp.arange(16) / 16))[:, None]
            low, high = jnp.split(x, 2, axis=-1)
            sin, cos = jnp.sin(angle), jnp.cos(angle)
            return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], -1)

        def project(x: jax.Array, at: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            n = norm(x, "norm.attention")
            q, k, v = (
                (n @ given[f"w.{name}"].T).reshape(batch, -1, 4, 32) for name in ("q", "k", "v")
            )
            return rope(q, at), rope(k, at), v

        def rest(
            x: jax.Array, q: jax.Array, k: jax.Array, v: jax.Array, mask: jax.Array
        ) -> jax.Array:
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(32.0)
            weight = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
            a = jnp.einsum("bhqk,bkhd->bqhd", weight, v).reshape(x.shape)
            z = x + a @ given["w.out"].T
            n = norm(z, "norm.mlp")
            gated = jax.nn.silu(n @ given["mlp.gate"].T) * (n @ given["mlp.up"].T)
            y = z + gated @ given["mlp.down"].T
            logits = norm(y[:, -1], "norm.out") @ given["table"].T
            return jnp.argmax(logits, -1).astype(jnp.int32)

        x = given["table"][given["prompt"]]
        q, k, v = project(x, jnp.arange(first))
        token = rest(x, q, k, v, jnp.tril(jnp.ones((first, first), bool)))
        room = ((0, 0), (0, length - first), (0, 0), (0, 0))
        State = tuple[jax.Array, jax.Array, jax.Array]

        def step(state: State, at: jax.Array) -> tuple[State, jax.Array]:
            token, keys, values = state
            x = given["table"][token][:, None]
            q, k, v = project(x, at[None])
            keys = jax.lax.dynamic_update_slice_in_dim(keys, k, at, 1)
            values = jax.lax.dynamic_update_slice_in_dim(values, v, at, 1)
            best = rest(x, q, keys, values, jnp.arange(length) <= at)
            return (best, keys, values), token

        state = token, jnp.pad(k, room), jnp.pad(v, room)
        _, words = jax.lax.scan(step, state, jnp.arange(first, length))
        return {"token": jnp.concatenate([given["prompt"], words.T], axis=1)}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 4, "P": 32, "T": 160}, small={"B": 2, "P": 2, "T": 5})
"""A prompt and a hundred words more from a model of one layer."""
