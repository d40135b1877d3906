"""Populations are rolled, each in its own direction."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

X = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
Y = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
WEIGHT = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)[:, None, None]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Two waves of shear."""
    y, x = np.mgrid[0 : sizes["H"], 0 : sizes["W"]]
    along = 0.05 * np.sin(2 * np.pi * y / sizes["H"])
    across = 0.02 * np.cos(2 * np.pi * x / sizes["W"])
    return {"ux0": along.astype(np.float32), "uy0": across.astype(np.float32)}, {}


def equilibrium(rho: jax.Array, ux: jax.Array, uy: jax.Array) -> jax.Array:
    """What collisions lead to."""
    along = X[:, None, None] * ux + Y[:, None, None] * uy
    return WEIGHT * rho * (1 + 3 * along + 4.5 * along**2 - 1.5 * (ux**2 + uy**2))


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Moments, a collision, and a move, in a scan."""

    def moments(f: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        rho = f.sum(0)
        ux, uy = (jnp.einsum("k,khw->hw", c.astype(np.float32), f) / rho for c in (X, Y))
        return rho, ux, uy

    def step(f: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        rho, ux, uy = moments(f)
        g = f - (f - equilibrium(rho, ux, uy)) / 0.6
        moved = [jnp.roll(g[k], (int(Y[k]), int(X[k])), (0, 1)) for k in range(9)]
        return jnp.stack(moved), jnp.sum(rho * (ux**2 + uy**2))

    def run(given: Tensors) -> Tensors:
        f = equilibrium(jnp.ones((sizes["H"], sizes["W"])), given["ux0"], given["uy0"])
        f, energy = jax.lax.scan(step, f, length=sizes["T"] - 1)
        rho, ux, uy = moments(f)
        last = jnp.sum(rho * (ux**2 + uy**2))
        return {"energy": jnp.append(energy, last), "ux": ux, "uy": uy}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"T": 200, "H": 64, "W": 96},
    small={"T": 4, "H": 5, "W": 4},
    constants=("H", "W"),
)
"""A fluid on a torus by the lattice Boltzmann method; rolls are gathers at known positions."""
