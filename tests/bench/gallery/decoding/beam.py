"""Beam search as a `lax.scan` over words, another one back."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SHAPES = {
    "table": (300, 32),
    "cell.w": (192, 32),
    "cell.u": (192, 64),
    "cell.b": (192,),
    "cell.c": (192,),
    "out.w": (300, 64),
    "out.b": (300,),
}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """First words, and a model with opinions."""
    random = np.random.default_rng(0)
    return {"first": random.integers(0, 300, sizes["B"]).astype(np.int32)}, {
        name: random.standard_normal(shape).astype(np.float32) / 3 for name, shape in SHAPES.items()
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The beams of all texts are rows of one product."""
    State = tuple[jax.Array, jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        def step(s: State, _: None) -> tuple[State, tuple[jax.Array, jax.Array]]:
            word, state, score = s
            a = given["table"][word] @ given["cell.w"].T + given["cell.b"]
            g = state @ given["cell.u"].T + given["cell.c"]
            ar, az, an = jnp.split(a, 3, axis=-1)
            gr, gz, gn = jnp.split(g, 3, axis=-1)
            z = jax.nn.sigmoid(az + gz)
            new = (1.0 - z) * jnp.tanh(an + jax.nn.sigmoid(ar + gr) * gn) + z * state
            logits = new @ given["out.w"].T + given["out.b"]
            likely = (score[..., None] + jax.nn.log_softmax(logits)).reshape(-1, 1200)
            best, chosen = jax.lax.top_k(likely, 4)
            parent = chosen // 300
            state = jnp.take_along_axis(new, parent[..., None], 1)
            return (chosen % 300, state, best), (word, parent)

        zeros = jnp.zeros((sizes["B"], 4))
        first = given["first"][:, None] + jnp.zeros((1, 4), jnp.int32)
        start = first, jnp.zeros((sizes["B"], 4, 64)), zeros.at[:, 1:].set(-jnp.inf)
        (word, _, score), (words, parents) = jax.lax.scan(step, start, None, sizes["T"] - 1)

        def back(at: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            word, parent = row
            at = jnp.take_along_axis(parent, at[:, None], 1)[:, 0]
            return at, jnp.take_along_axis(word, at[:, None], 1)[:, 0]

        at = jnp.zeros(sizes["B"], jnp.int32)
        _, text = jax.lax.scan(back, at, (words, parents), reverse=True)
        return {"text": jnp.append(text.T, word[:, :1], axis=1), "final": score[:, 0]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 8, "T": 48}, small={"B": 2, "T": 4})
"""The likeliest texts of a recurrent language model."""
