"""Gated linear attention as a `lax.scan` over time for all heads, and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sequences, and a layer of four heads."""
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    shape = sizes["B"], sizes["T"], 64
    weights = {f"w.{name}": normal(4, 16, 64) / 8 for name in ("q", "k", "v", "gate")}
    return {"x": normal(*shape), "target": normal(*shape)}, weights | {
        "w.out": normal(4, 64, 16) / 8
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The matrices from step to step, the rest at once."""

    def cost(w: Tensors, given: Tensors) -> jax.Array:
        q, k, v, gate = (
            jnp.einsum("btd,hkd->tbhk", given["x"], w[f"w.{name}"])
            for name in ("q", "k", "v", "gate")
        )

        def step(s: jax.Array, row: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
            q, k, v, keep = row
            s = keep[..., None] * s + k[..., None] * v[:, :, None]
            return s, jnp.einsum("bhk,bhkv->bhv", q, s)

        start = jnp.zeros((sizes["B"], 4, 16, 16))
        _, o = jax.lax.scan(step, start, (q, k, v, jax.nn.sigmoid(gate + 2.0)))
        y = jnp.einsum("tbhk,hdk->btd", o / 4.0, w["w.out"])
        return jnp.mean((y - given["target"]) ** 2)

    def run(given: Tensors) -> Tensors:
        weights = {name: given[name] for name in given if name.startswith("w.")}
        loss, slopes = jax.value_and_grad(cost)(weights, given)
        return {"loss": loss} | {
            name.replace("w.", "slope."): slope for name, slope in slopes.items()
        }

    return run


PAIR = Pair(in_tests=True, data=data, twin=twin, sizes={"B": 8, "T": 128}, small={"B": 2, "T": 3})
"""Linear attention with gates that the input chooses, and its gradients."""
