"""`grad` of what a scan over `grad` gives, mapped over the tasks."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start, layers, mlp, mlp_params


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Sine waves of random phase and height, at random places."""
    random = np.random.default_rng(0)
    shape = (sizes["I"], sizes["B"], sizes["N"])
    height, phase = random.uniform(0.5, 2, (2, *shape[:2], 1))
    x, x2 = random.uniform(-4, 4, (2, *shape))
    inputs = {"x": x, "x2": x2, "y": height * np.sin(x + phase), "y2": height * np.sin(x2 + phase)}
    return {k: v.astype(np.float32) for k, v in inputs.items()}, mlp_params(
        random, "start", [1, 40, 40, 1]
    )


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Second derivatives by differentiating twice."""

    def wrong(w: Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.mean((mlp(w, x[:, None])[:, 0] - y) ** 2)

    def task(w: Tree, x: jax.Array, y: jax.Array, x2: jax.Array, y2: jax.Array) -> jax.Array:
        def descend(w: Tree, _: None) -> tuple[Tree, None]:
            return jax.tree.map(lambda w, g: w - 0.01 * g, w, jax.grad(wrong)(w, x, y)), None

        return wrong(jax.lax.scan(descend, w, None, length=sizes["K"] - 1)[0], x2, y2)

    def outer(w: Tree, *tasks: jax.Array) -> jax.Array:
        return jnp.mean(jax.vmap(task, (None, 0, 0, 0, 0))(w, *tasks))

    def run(given: Tensors) -> Tensors:
        def step(state: Tree, given: tuple[jax.Array, ...]) -> tuple[Tree, jax.Array]:
            w, moments = state
            i, *tasks = given
            value, slope = jax.value_and_grad(outer)(w, *tasks)
            return adam(w, slope, moments, i, 1e-3), value

        w = layers(given, "start")
        xs = (jnp.arange(sizes["I"]), *(given[name] for name in ("x", "y", "x2", "y2")))
        return {"outer": jax.lax.scan(step, (w, adam_start(w)), xs)[1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 50, "B": 8, "K": 4, "N": 10},
    small={"I": 2, "B": 2, "K": 2, "N": 3},
)
