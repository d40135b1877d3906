"""The recurrence as a scan, and `jax.grad` of it."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random keys, values and gates."""
    random = np.random.default_rng(0)
    k, v, r = random.standard_normal((3, sizes["B"], sizes["T"], 64)).astype(np.float32)
    w, u = random.uniform(0.1, 1, (2, 64)).astype(np.float32)
    return {"k": k, "v": v, "r": r}, {"w": w, "u": u}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Time goes first."""

    def mixed(w: jax.Array, k: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
        def step(state: Tree, given: tuple[jax.Array, jax.Array]) -> tuple[Tree, jax.Array]:
            num, den, p = state
            k, v = given
            q = jnp.maximum(p, u + k)
            before, now = jnp.exp(p - q), jnp.exp(u + k - q)
            y = (before * num + now * v) / (before * den + now)
            top = jnp.maximum(p - w, k)
            before, now = jnp.exp(p - w - top), jnp.exp(k - top)
            return (before * num + now * v, before * den + now, top), y

        first = v[0], jnp.ones_like(k[0]), k[0]
        return jnp.append(v[:1], jax.lax.scan(step, first, (k[1:], v[1:]))[1], 0)

    def run(given: Tensors) -> Tensors:
        k, v, r = (given[name].swapaxes(0, 1) for name in ("k", "v", "r"))

        def total(w: jax.Array, k: jax.Array) -> tuple[jax.Array, jax.Array]:
            out = jax.nn.sigmoid(r) * mixed(w, k, given["u"], v)
            return jnp.mean(jnp.sum(out * out, -1)), out

        (_, out), (gw, gk) = jax.value_and_grad(total, (0, 1), has_aux=True)(given["w"], k)
        return {"out": out.swapaxes(0, 1), "gw": gw, "gk": gk.swapaxes(0, 1)}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 8, "T": 256}, small={"B": 2, "T": 4})
