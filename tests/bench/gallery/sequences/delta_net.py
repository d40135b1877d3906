"""DeltaNet as a `lax.scan` over time for all heads, and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

NAMES = {"wq": "q", "wk": "k", "wv": "v", "rate": "rate", "out": "out"}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sequences, and a layer of four heads."""
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    shape = sizes["B"], sizes["T"], 64
    weights = {name: normal(4, 16, 64) / 8 for name in ("wq", "wk", "wv")}
    weights |= {"rate": normal(4, 64) / 8, "out": normal(4, 64, 16) / 8}
    return {"x": normal(*shape), "target": normal(*shape)}, weights


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Everything but the matrices is computed for all times at once."""

    def cost(net: Tensors, given: Tensors) -> jax.Array:
        x = given["x"]

        def heads(w: jax.Array) -> jax.Array:
            return jnp.einsum("btd,hkd->tbhk", x, w)

        def unit(v: jax.Array) -> jax.Array:
            return v * jax.lax.rsqrt(jnp.sum(v * v, axis=-1, keepdims=True) + 1e-6)

        q, k = unit(jax.nn.silu(heads(net["wq"]))), unit(jax.nn.silu(heads(net["wk"])))
        beta = jax.nn.sigmoid(jnp.einsum("btd,hd->tbh", x, net["rate"]))

        def step(m: jax.Array, row: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
            q, k, v, beta = row
            error = v - jnp.einsum("bhvk,bhk->bhv", m, k)
            m = m + (beta[..., None] * error)[..., None] * k[:, :, None]
            return m, jnp.einsum("bhvk,bhk->bhv", m, q)

        start = jnp.zeros((sizes["B"], 4, 16, 16))
        _, o = jax.lax.scan(step, start, (q, k, heads(net["wv"]), beta))
        y = jnp.einsum("tbhk,hdk->btd", o, net["out"])
        return jnp.mean((y - given["target"]) ** 2)

    def run(given: Tensors) -> Tensors:
        loss, slopes = jax.value_and_grad(cost)({name: given[name] for name in NAMES}, given)
        return {"loss": loss} | {f"by_{NAMES[name]}": slope for name, slope in slopes.items()}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 8, "T": 128}, small={"B": 2, "T": 3})
"""A layer of fast weights with the delta rule, and its gradients."""
