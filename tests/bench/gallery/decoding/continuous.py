"""Slots as a `lax.scan` over steps."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SHAPES = {
    "table": (300, 64),
    "cell.w": (192, 64),
    "cell.u": (192, 64),
    "cell.b": (192,),
    "cell.c": (192,),
}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Requests and a model."""
    random = np.random.default_rng(0)
    inputs = {
        "first": random.integers(0, 300, sizes["Q"]).astype(np.int32),
        "length": random.integers(1, 20, sizes["Q"]).astype(np.int32),
    }
    return inputs, {
        name: random.standard_normal(shape).astype(np.float32) / 4 for name, shape in SHAPES.items()
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The state is what the slots hold, and how many requests were handed out."""
    many = sizes["Q"]
    State = tuple[jax.Array, ...]

    def run(given: Tensors) -> Tensors:
        def step(s: State, _: None) -> tuple[State, tuple[jax.Array, ...]]:
            request, position, word, state, handed = s
            busy = request < many
            a = given["table"][word] @ given["cell.w"].T + given["cell.b"]
            g = state @ given["cell.u"].T + given["cell.c"]
            ar, az, an = jnp.split(a, 3, axis=-1)
            gr, gz, gn = jnp.split(g, 3, axis=-1)
            z = jax.nn.sigmoid(az + gz)
            new = (1.0 - z) * jnp.tanh(an + jax.nn.sigmoid(ar + gr) * gn) + z * state
            best = jnp.argmax(new @ given["table"].T, axis=1).astype(jnp.int32)
            length = given["length"][jnp.minimum(request, many - 1)]
            done = busy & (position + 1 >= length)
            taken = handed + jnp.cumsum(done) - 1
            after = (
                jnp.where(done, taken, request),
                jnp.where(done, 0, position + 1),
                jnp.where(done, given["first"][jnp.minimum(taken, many - 1)], best),
                jnp.where(done[:, None], 0.0, new),
                handed + done.sum(),
            )
            return after, (request, jnp.where(busy, best, -1), done.sum())

        request = jnp.arange(8)
        start = (
            request,
            jnp.zeros(8, jnp.int32),
            given["first"][jnp.minimum(request, many - 1)],
            jnp.zeros((8, 64)),
            jnp.int32(8),
        )
        _, (requests, written, done) = jax.lax.scan(step, start, None, sizes["T"])
        return {"request": requests, "written": written, "served": done.sum()}

    return run


PAIR = Pair(in_tests=True, data=data, twin=twin, sizes={"Q": 64, "T": 96}, small={"Q": 12, "T": 7})
"""A server that never lets a slot wait."""
