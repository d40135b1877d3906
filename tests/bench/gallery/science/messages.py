"""`jax.ops.segment_sum` in a scan over steps of training."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A random graph, and labels of its nodes."""
    random = np.random.default_rng(0)
    n, e = sizes["N"], sizes["E"]
    ends = random.integers(0, n, (2, e)).astype(np.int32)
    x = random.standard_normal((n, 32)).astype(np.float32)
    w, u = 0.1 * random.standard_normal((2, 3, 32, 32)).astype(np.float32)
    out = 0.2 * random.standard_normal((4, 32)).astype(np.float32)
    label = random.integers(0, 4, n).astype(np.int32)
    inputs = {"from_": ends[0], "into": ends[1], "x": x, "label": label}
    return inputs, {"W": w, "U": u, "out": out}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The rounds are unrolled, as their weights differ."""

    def total(net: Tree, given: Tensors) -> jax.Array:
        h = given["x"]
        for k in range(3):
            sent = h[given["from_"]] @ net["W"][k]
            inbox = jax.ops.segment_sum(sent, given["into"], sizes["N"])
            h = jax.nn.relu(h @ net["U"][k] + inbox)
        likely = jax.nn.log_softmax(h @ net["out"].T)
        return -jnp.mean(jnp.take_along_axis(likely, given["label"][:, None], 1))

    def run(given: Tensors) -> Tensors:
        def step(state: Tree, i: jax.Array) -> tuple[Tree, jax.Array]:
            net, moments = state
            value, slope = jax.value_and_grad(total)(net, given)
            return adam(net, slope, moments, i, 1e-3), value

        net = {name: given[name] for name in ("W", "U", "out")}
        return {"total": jax.lax.scan(step, (net, adam_start(net)), jnp.arange(sizes["I"]))[1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 20, "E": 2000, "N": 500},
    small={"I": 2, "E": 5, "N": 3},
)
