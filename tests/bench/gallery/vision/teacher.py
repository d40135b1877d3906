"""One scan; the teacher and its center are carries."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

CODES = 64
Net = dict[str, jax.Array]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Two views of each example, and where both networks start."""
    random = np.random.default_rng(0)
    x = random.standard_normal((sizes["I"], sizes["N"], 2, 32)).astype(np.float32)
    shapes = {"a": (128, 32), "b": (128,), "c": (CODES, 128)}
    net = {f"net0.{k}": random.standard_normal(shape) / 6 for k, shape in shapes.items()}
    return {"x": x}, {k: w.astype(np.float32) for k, w in net.items()}


def head(net: Net, x: jax.Array) -> jax.Array:
    """Two layers."""
    return jax.nn.gelu(x @ net["a"].T + net["b"], approximate=False) @ net["c"].T


def loss(student: Net, raw: jax.Array, center: jax.Array, x: jax.Array) -> jax.Array:
    """Each view of the student against the other one of the teacher."""
    own = jax.nn.log_softmax(head(student, x) / 0.1)
    goal = jax.nn.softmax((raw - center) / 0.04)
    return -jnp.mean(jnp.sum(goal[:, 0] * own[:, 1] + goal[:, 1] * own[:, 0], -1) / 2)


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """`jax.value_and_grad` in a scan."""

    def step(
        state: tuple[Net, Net, jax.Array], x: jax.Array
    ) -> tuple[tuple[Net, Net, jax.Array], tuple[jax.Array, Net]]:
        student, teacher, center = state
        raw = head(teacher, x)
        value, slope = jax.value_and_grad(loss)(student, raw, center, x)
        after = jax.tree.map(lambda w, g: w - 0.1 * g, student, slope)
        mean = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b, teacher, after)
        return (after, mean, 0.9 * center + 0.1 * raw.mean((0, 1))), (value, teacher)

    def run(given: Tensors) -> Tensors:
        net = {k: given[f"net0.{k}"] for k in "abc"}
        _, (values, nets) = jax.lax.scan(step, (net, net, jnp.zeros(CODES)), given["x"])
        return {"loss": values, **{f"teacher_net.{k}": w[-1] for k, w in nets.items()}}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 30, "N": 64}, small={"I": 3, "N": 2})
