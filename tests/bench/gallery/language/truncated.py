"""A scan over chunks, in which `value_and_grad` differentiates a scan over time."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random letters."""
    random = np.random.default_rng(0)
    shape = (sizes["I"], sizes["B"], sizes["T"])
    text, after = random.integers(0, 64, (2, *shape)).astype(np.int32)

    def weights(*shape: int) -> np.ndarray:
        return (0.1 * random.standard_normal(shape)).astype(np.float32)

    cell = {"cell.w": weights(256, 64), "cell.u": weights(256, 64), "cell.b": weights(256)}
    return {"text": text, "next": after}, {
        **cell,
        "table": weights(64, 64),
        "out": weights(64, 64),
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The state is an argument that is not differentiated."""

    def total(net: Tree, state: Tree, text: jax.Array, after: jax.Array) -> tuple[jax.Array, Tree]:
        def step(state: Tree, x: jax.Array) -> tuple[Tree, jax.Array]:
            h, c = state
            gates = x + h @ net["cell.u"].T
            i, f, g, o = jnp.split(gates, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        x = net["table"][text.T] @ net["cell.w"].T + net["cell.b"]
        state, h = jax.lax.scan(step, state, x)
        likely = jax.nn.log_softmax(h @ net["out"].T)
        return -jnp.mean(jnp.take_along_axis(likely, after.T[..., None], -1)), state

    def run(given: Tensors) -> Tensors:
        def chunk(state: Tree, given: tuple[jax.Array, ...]) -> tuple[Tree, jax.Array]:
            net, moments, before = state
            i, text, after = given
            (value, before), slope = jax.value_and_grad(total, has_aux=True)(
                net, before, text, after
            )
            return (*adam(net, slope, moments, i, 2e-3), before), value

        net = {key: given[key] for key in ("table", "out", "cell.w", "cell.u", "cell.b")}
        nothing = jnp.zeros((sizes["B"], 64))
        xs = jnp.arange(sizes["I"]), given["text"], given["next"]
        start = net, adam_start(net), (nothing, nothing)
        return {"total": jax.lax.scan(chunk, start, xs)[1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 8, "B": 16, "T": 32},
    small={"I": 2, "B": 2, "T": 3},
)
