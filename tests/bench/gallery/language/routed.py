"""All experts for all tokens, weighted by what the router chooses."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

D, H, EXPERTS, LEARNING_RATE = 32, 64, 8, 0.1
Weights = tuple[jax.Array, jax.Array, jax.Array]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise to be learned."""
    random = np.random.default_rng(0)

    def noise(*shape: int) -> np.ndarray:
        return random.normal(size=shape).astype(np.float32)

    tokens = sizes["S"], sizes["N"], D
    inputs = {"x": noise(*tokens), "target": noise(*tokens)}
    params = {
        "gate0": 0.3 * noise(EXPERTS, D),
        "a0": 0.2 * noise(EXPERTS, H, D),
        "b0": 0.1 * noise(EXPERTS, D, H),
    }
    return inputs, params


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One step for each batch."""

    def loss(weights: Weights, x: jax.Array, target: jax.Array) -> jax.Array:
        gate, a, b = weights
        top, who = jax.lax.top_k(x @ gate.T, 2)
        shares = jax.nn.one_hot(who, EXPERTS) * jax.nn.softmax(top)[..., None]
        hidden = jax.nn.relu(jnp.einsum("ehd,nd->neh", a, x))
        y = jnp.einsum("nke,ned->nd", shares, jnp.einsum("edh,neh->ned", b, hidden))
        return jnp.mean((y - target) ** 2)

    def step(weights: Weights, given: tuple[jax.Array, jax.Array]) -> tuple[Weights, jax.Array]:
        value, slopes = jax.value_and_grad(loss)(weights, *given)
        return jax.tree.map(lambda w, g: w - LEARNING_RATE * g, weights, slopes), value

    def run(given: Tensors) -> Tensors:
        start = given["gate0"], given["a0"], given["b0"]
        return {"loss": jax.lax.scan(step, start, (given["x"], given["target"]))[1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"S": 10, "N": 128}, small={"S": 2, "N": 3})
