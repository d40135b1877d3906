"""A scan over time for all paths, and its gradient by all parameters."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

MODEL = {"S0": 1.0, "v0": 0.04, "kappa": 1.5, "theta": 0.04, "xi": 0.3, "rho": -0.7}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Normal numbers, and the parameters of the model."""
    random = np.random.default_rng(0)
    z = random.standard_normal((sizes["T"], sizes["N"], 2)).astype(np.float32)
    return {"z": z}, {f"p.{name}": np.float32(value) for name, value in MODEL.items()}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The mean of what is paid, and its derivatives."""
    steps, paths = sizes["T"], sizes["N"]
    dt = 1.0 / steps

    def price(p: dict[str, jax.Array], z: jax.Array) -> jax.Array:
        def step(
            before: tuple[jax.Array, jax.Array], w: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array], None]:
            log_s, v = before
            positive = jnp.maximum(v, 0.0)
            root = jnp.sqrt(positive * dt + 1e-10)
            other = p["rho"] * w[:, 0] + jnp.sqrt(1.0 - p["rho"] ** 2) * w[:, 1]
            log_s += (0.03 - 0.5 * positive) * dt + root * w[:, 0]
            v += p["kappa"] * (p["theta"] - positive) * dt + p["xi"] * root * other
            return (log_s, v), None

        first = jnp.full(paths, jnp.log(p["S0"])), jnp.full(paths, p["v0"])
        (log_s, _), _ = jax.lax.scan(step, first, z)
        return jnp.mean(jnp.exp(-0.03) * jnp.maximum(jnp.exp(log_s) - 1.0, 0.0))

    def run(given: Tensors) -> Tensors:
        p = {name: given[f"p.{name}"] for name in MODEL}
        value, greeks = jax.value_and_grad(price)(p, given["z"])
        return {"price": value, **{f"greeks.{name}": g for name, g in greeks.items()}}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"T": 100, "N": 5000}, small={"T": 3, "N": 5})
"""Prices and sensitivities of an option by simulation, in the model of Heston (1993)."""
