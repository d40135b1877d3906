"""The whole batch as a matrix, in `lax.scan`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Signals that are sums of a few atoms."""
    random = np.random.default_rng(0)
    d, a = sizes["D"], sizes["A"]
    atoms = (random.standard_normal((d, a)) / d**0.5).astype(np.float32)
    codes = random.standard_normal((sizes["B"], a)) * (random.random((sizes["B"], a)) < 0.1)
    return {"signal": (codes @ atoms.T).astype(np.float32)}, {"atoms": atoms}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Codes, their extrapolation and the weight of momentum are the carry."""
    State = tuple[jax.Array, jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        signal, atoms = given["signal"], given["atoms"]
        rate = 1.0 / jnp.sum(atoms**2)

        def loss(x: jax.Array) -> jax.Array:
            rest = signal - x @ atoms.T
            return jnp.mean(0.5 * jnp.sum(rest**2, axis=1) + 0.05 * jnp.sum(jnp.abs(x), axis=1))

        def step(state: State, _: None) -> tuple[State, jax.Array]:
            x, z, theta = state
            moved = z + rate * ((signal - z @ atoms.T) @ atoms)
            x2 = jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - rate * 0.05, 0.0)
            theta2 = (1 + jnp.sqrt(1 + 4 * theta**2)) / 2
            return (x2, x2 + (theta - 1) / theta2 * (x2 - x), theta2), loss(x)

        zeros = jnp.zeros((sizes["B"], sizes["A"]))
        (x, _, _), losses = jax.lax.scan(
            step, (zeros, zeros, jnp.float32(1.0)), length=sizes["K"] - 1
        )
        return {"loss": jnp.concatenate([losses, loss(x)[None]]), "codes": x}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"K": 100, "B": 64, "D": 64, "A": 128},
    small={"K": 4, "B": 3, "D": 6, "A": 8},
    constants=("D", "A"),
)
