"""The network as a scan with a custom derivative, and `jax.value_and_grad` of it."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise, more of it for larger labels."""
    random = np.random.default_rng(0)
    label = random.integers(0, 4, sizes["B"]).astype(np.int32)
    x = (1 + 0.3 * label[:, None]) * random.random((sizes["T"], sizes["B"], 16))
    shapes = {"into": (64, 16), "across": (64, 64), "out": (4, 64)}
    weights = {name: 0.2 * random.standard_normal(shape) for name, shape in shapes.items()}
    params = {f"w0.{name}": w.astype(np.float32) for name, w in weights.items()}
    return {"x": x.astype(np.float32), "label": label}, params


@jax.custom_jvp
def spike(v: jax.Array) -> jax.Array:
    """A step."""
    return (v > 0.0).astype(jnp.float32)


@spike.defjvp
def _slope(v: tuple[jax.Array], dv: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    soft = jax.nn.sigmoid(4.0 * v[0])
    return spike(v[0]), 4.0 * soft * (1.0 - soft) * dv[0]


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """All iterations are a scan."""

    def run(given: Tensors) -> Tensors:
        x, label = given["x"], given["label"]

        def cost(w: Tree) -> tuple[jax.Array, jax.Array]:
            def step(state: Tree, x: jax.Array) -> tuple[Tree, Tree]:
                v, y = state
                z = spike(v - 1.0)
                v2 = (
                    0.9 * v * (1.0 - jax.lax.stop_gradient(z)) + x @ w["into"].T + z @ w["across"].T
                )
                return (v2, 0.95 * y + z @ w["out"].T), (z, y)

            start = jnp.zeros((x.shape[1], 64)), jnp.zeros((x.shape[1], 4))
            _, (z, y) = jax.lax.scan(step, start, x)
            log_p = jax.nn.log_softmax(y.mean(0))
            return -jnp.take_along_axis(log_p, label[:, None], 1).mean(), z.mean()

        def train(state: Tree, i: jax.Array) -> tuple[Tree, Tree]:
            w, moments = state
            (value, rate), slope = jax.value_and_grad(cost, has_aux=True)(w)
            return adam(w, slope, moments, i, 3e-3), (value, rate, w["out"])

        w = {name: given[f"w0.{name}"] for name in ("into", "across", "out")}
        _, (value, rate, out) = jax.lax.scan(train, (w, adam_start(w)), jnp.arange(sizes["I"]))
        return {"cost": value, "rate": rate, "out": out[-1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 20, "T": 100, "B": 32},
    small={"I": 2, "T": 4, "B": 3},
    in_tests=False,
)
