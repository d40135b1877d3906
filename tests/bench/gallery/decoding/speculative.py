"""Speculative decoding as a `lax.while_loop` over rounds."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SHAPES = {
    "small.table": (200, 64),
    "small.out": (200, 64),
    "large.table": (200, 64),
    "large.mix": (64, 128),
    "large.out": (200, 64),
}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A prompt, and two models that often agree."""
    random = np.random.default_rng(0)
    params = {
        name: random.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()
    }
    params["large.table"] = params["small.table"]
    params["large.out"] = params["small.out"]
    noise = random.standard_normal((64, 64)).astype(np.float32) / 30
    params["large.mix"] = np.concatenate([noise, np.eye(64, dtype=np.float32)], axis=1)
    return {"prompt": np.array([3, 14], np.int32)}, params


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The draft is a scan, the check one product; words go into the text with a mask."""
    State = tuple[jax.Array, jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        def more(state: State) -> jax.Array:
            _, length, rounds = state
            return (length < 96) & (rounds < sizes["R"])

        def step(word: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            word = jnp.argmax(given["small.out"] @ jnp.tanh(given["small.table"][word]))
            return word, word

        def body(state: State) -> State:
            text, length, rounds = state
            _, draft = jax.lax.scan(step, text[length - 1], None, 4)
            last = jnp.concatenate([text[length - 1][None], draft[:-1]])
            before = jnp.concatenate([text[length - 2][None], last[:-1]])
            pair = jnp.concatenate([given["large.table"][before], given["large.table"][last]], 1)
            logits = jnp.tanh(pair @ given["large.mix"].T) @ given["large.out"].T
            wanted = jnp.argmax(logits, axis=1).astype(jnp.int32)
            accepted = jnp.cumprod(draft == wanted).sum()
            gained = jnp.minimum(accepted + 1, 4)
            place = jnp.arange(96) - length
            new = (place >= 0) & (place < gained)
            text = jnp.where(new, wanted[jnp.clip(place, 0, 3)], text)
            return text, jnp.minimum(length + gained, 96), rounds + 1

        text = jnp.concatenate([given["prompt"], jnp.zeros(94, jnp.int32)])
        text, _, rounds = jax.lax.while_loop(more, body, (text, jnp.int32(2), jnp.int32(1)))
        return {"text": text, "rounds": rounds}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"R": 200}, small={"R": 5})
"""Drafts of a small model, checked by a large one, until the text is full."""
