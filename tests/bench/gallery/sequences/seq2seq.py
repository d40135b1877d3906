"""A scan that reads and one that writes with attention, and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

SHAPES = {
    "table": (200, 32),
    "reader.w": (144, 32),
    "reader.u": (144, 48),
    "reader.b": (144,),
    "reader.c": (144,),
    "writer.w": (144, 80),
    "writer.u": (144, 48),
    "writer.b": (144,),
    "writer.c": (144,),
    "out.w": (200, 96),
    "out.b": (200,),
}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sentences and translations."""
    random = np.random.default_rng(0)
    inputs = {
        name: random.integers(0, 200, (sizes["B"], sizes[size])).astype(np.int32)
        for name, size in (("source", "S"), ("target", "T"))
    }
    return inputs, {
        name: random.standard_normal(shape).astype(np.float32) / 7 for name, shape in SHAPES.items()
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Products with words are computed before the scans, those with logits after them."""

    def cell(a: jax.Array, h: jax.Array, u: jax.Array, c: jax.Array) -> jax.Array:
        ar, az, an = jnp.split(a, 3, axis=1)
        gr, gz, gn = jnp.split(h @ u.T + c, 3, axis=1)
        z = jax.nn.sigmoid(az + gz)
        n = jnp.tanh(an + jax.nn.sigmoid(ar + gr) * gn)
        return (1.0 - z) * n + z * h

    def cost(net: Tensors, given: Tensors) -> jax.Array:
        source, target = given["source"].T, given["target"].T

        def read(h: jax.Array, a: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = cell(a, h, net["reader.u"], net["reader.c"])
            return h, h

        words = net["table"][source] @ net["reader.w"].T + net["reader.b"]
        last, seen = jax.lax.scan(read, jnp.zeros((sizes["B"], 48)), words)
        memory = seen.swapaxes(0, 1)
        words = net["table"][target[:-1]]
        words = jnp.concatenate([jnp.zeros((1, sizes["B"], 32)), words])

        def write(h: jax.Array, a: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            weight = jax.nn.softmax(jnp.einsum("bsh,bh->bs", memory, h) / jnp.sqrt(48.0))
            context = jnp.einsum("bs,bsh->bh", weight, memory)
            a = a + context @ net["writer.w"][:, 32:].T
            h = cell(a, h, net["writer.u"], net["writer.c"])
            return h, (h, context)

        inputs = words @ net["writer.w"][:, :32].T + net["writer.b"]
        _, (state, context) = jax.lax.scan(write, last, inputs)
        logits = jnp.concatenate([state, context], -1) @ net["out.w"].T + net["out.b"]
        score = jax.nn.log_softmax(logits)
        return -jnp.mean(jnp.take_along_axis(score, target[..., None], 2))

    def run(given: Tensors) -> Tensors:
        value, slopes = jax.value_and_grad(cost)({name: given[name] for name in SHAPES}, given)
        return {"cost": value} | {f"by_{name}": slope for name, slope in slopes.items()}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 32, "S": 48, "T": 40}, small={"B": 2, "S": 3, "T": 4})
"""Translation with attention in a recurrent decoder, and its gradients."""
