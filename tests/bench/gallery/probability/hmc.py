"""Hamiltonian Monte Carlo as one would write it in JAX: two scans under `vmap` over the chains."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Starting points, momenta and thresholds, drawn beforehand."""
    random = np.random.default_rng(0)
    shape = (sizes["C"], sizes["I"])
    start = random.standard_normal((sizes["C"], sizes["D"])).astype(np.float32)
    kick = random.standard_normal((*shape, sizes["D"])).astype(np.float32)
    chance = random.uniform(0.01, 1.0, shape).astype(np.float32)
    return {"start": start, "kick": kick, "chance": chance}, {"rate": np.array(0.1, np.float32)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """One chain, mapped."""

    def energy(q: jax.Array) -> jax.Array:
        return jnp.sum(0.25 * q**4 + 0.5 * q**2)

    def slope(q: jax.Array) -> jax.Array:
        return q**3 + q

    def chain(start: jax.Array, kick: jax.Array, chance: jax.Array, rate: jax.Array) -> jax.Array:
        def leap(
            state: tuple[jax.Array, jax.Array], _: None
        ) -> tuple[tuple[jax.Array, jax.Array], None]:
            place, speed = state
            half = speed - 0.5 * rate * slope(place)
            place = place + rate * half
            return (place, half - 0.5 * rate * slope(place)), None

        def step(q: jax.Array, drawn: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            speed, limit = drawn
            (end, last), _ = jax.lax.scan(leap, (q, speed), None, length=sizes["L"] - 1)
            before = energy(q) + 0.5 * jnp.sum(speed**2)
            after = energy(end) + 0.5 * jnp.sum(last**2)
            return jnp.where(jnp.log(limit) < before - after, end, q), q

        return jax.lax.scan(step, start, (kick, chance))[1]

    def run(given: Tensors) -> Tensors:
        mapped = jax.vmap(chain, in_axes=(0, 0, 0, None))
        return {"q": mapped(given["start"], given["kick"], given["chance"], given["rate"])}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"C": 500, "I": 40, "L": 10, "D": 4},
    small={"C": 3, "I": 4, "L": 3, "D": 2},
    constants=("D",),
)
"""Chains are independent, though an inner recurrence reads what the same step computes."""
