"""A `lax.scan` over words whose step takes a gradient, mapped over texts."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

D = 32


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random texts and a layer."""
    random = np.random.default_rng(0)

    def normal(*shape: int, scale: float) -> np.ndarray:
        return (scale * random.standard_normal(shape)).astype(np.float32)

    params: Arrays = {name: normal(D, D, scale=D**-0.5) for name in ("keys", "values", "queries")}
    params |= {"start": normal(D, D, scale=0.1), "rate": normal(D, scale=0.1)}
    params["scale"] = np.ones(D, np.float32)
    return {"x": normal(sizes["B"], sizes["T"], D, scale=1.0)}, params


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Keys, values and queries of a text come from products of their own."""
    del sizes

    def run(given: Tensors) -> Tensors:
        def norm(x: jax.Array) -> jax.Array:
            return x * jax.lax.rsqrt(jnp.mean(x * x) + 1e-5) * given["scale"]

        def inner(w: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
            return jnp.sum((norm(w @ k) + k - v) ** 2)

        def step(w: jax.Array, word: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
            k, v, q, rate = word
            w = w - rate * jax.grad(inner)(w, k, v)
            return w, norm(w @ q) + q

        def text(x: jax.Array) -> tuple[jax.Array, jax.Array]:
            k, v, q = (x @ given[name].T for name in ("keys", "values", "queries"))
            rate = 0.5 * jax.nn.sigmoid(x @ given["rate"])
            return jax.lax.scan(step, given["start"], (k, v, q, rate))

        last, z = jax.vmap(text)(given["x"])
        return {"z": z, "last": last}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 8, "T": 512}, small={"B": 2, "T": 3})
"""A layer whose state is a matrix, of which each word takes a step of gradient descent."""
