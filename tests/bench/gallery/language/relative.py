"""Scores and biases as whole arrays, with a mask."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random vectors and weights."""
    random = np.random.default_rng(0)
    x, goal = random.standard_normal((2, sizes["B"], sizes["T"], 32)).astype(np.float32)
    wq, wk = (0.2 * random.standard_normal((2, 32, 32))).astype(np.float32)
    return {"x": x, "goal": goal}, {"wq": wq, "wk": wk, "bias": np.zeros(32, np.float32)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """A scan over steps of training."""
    place = jnp.arange(sizes["T"])
    between = place[:, None] - place

    def loss(w: Tree, x: jax.Array, goal: jax.Array) -> jax.Array:
        score = jnp.einsum("btd,bsd->bts", x @ w["wq"].T, x @ w["wk"].T) / np.sqrt(32)
        score = score + w["bias"][jnp.clip(between, 0, 31)]
        score = jnp.where(between >= 0, score, -1e9)
        return jnp.mean((jax.nn.softmax(score) @ x - goal) ** 2)

    def run(given: Tensors) -> Tensors:
        def step(state: Tree, i: jax.Array) -> tuple[Tree, jax.Array]:
            w, moments = state
            value, slope = jax.value_and_grad(loss)(w, given["x"], given["goal"])
            return adam(w, slope, moments, i, 1e-2), value

        w = {name: given[name] for name in ("wq", "wk", "bias")}
        return {"loss": jax.lax.scan(step, (w, adam_start(w)), jnp.arange(sizes["I"]))[1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 20, "B": 4, "T": 64}, small={"I": 2, "B": 2, "T": 5})
