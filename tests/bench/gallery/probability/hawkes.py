"""A scan over events under `vmap`, differentiated."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import Tree, adam, adam_start


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random events."""
    random = np.random.default_rng(0)
    shape = (sizes["B"], sizes["T"])
    gap = random.exponential(0.5, shape).astype(np.float32)
    kind = random.integers(0, 4, shape).astype(np.int32)
    weights = {
        "start_base": random.standard_normal(4),
        "start_jump": random.standard_normal((4, 4)) - 2,
        "start_decay": np.array(1.0),
    }
    return {"gap": gap, "kind": kind}, {k: v.astype(np.float32) for k, v in weights.items()}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Softplus keeps rates positive."""

    def sequence(w: Tree, gap: jax.Array, kind: jax.Array) -> jax.Array:
        base, jump, decay = (jax.nn.softplus(x) for x in w)

        def event(
            excited: jax.Array, given: tuple[jax.Array, jax.Array]
        ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            gap, kind = given
            excited = excited * jnp.exp(-decay * gap)
            after = excited + jump[:, kind]
            return after, (jnp.log((base + excited)[kind]), after)

        _, (seen, after) = jax.lax.scan(event, jnp.zeros(4), (gap, kind))
        faded = (1.0 - jnp.exp(-decay * gap[1:])) / decay
        return jnp.sum(base.sum() * gap[1:] + after[:-1].sum(-1) * faded) - jnp.sum(seen)

    def total(w: Tree, given: Tensors) -> jax.Array:
        each = jax.vmap(sequence, (None, 0, 0))(w, given["gap"], given["kind"])
        return each.sum() / (sizes["B"] * sizes["T"])

    def run(given: Tensors) -> Tensors:
        def step(state: Tree, i: jax.Array) -> tuple[Tree, jax.Array]:
            w, moments = state
            value, slope = jax.value_and_grad(total)(w, given)
            return adam(w, slope, moments, i, 1e-2), value

        w = given["start_base"], given["start_jump"], given["start_decay"]
        return {"total": jax.lax.scan(step, (w, adam_start(w)), jnp.arange(sizes["I"]))[1]}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 20, "B": 16, "T": 100},
    small={"I": 2, "B": 2, "T": 4},
)
