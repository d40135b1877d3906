"""Levels of noise from high to low in a scan, the whole batch at once."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors
from tests.bench.gallery.networks import layers, mlp, mlp_params


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Noise, and a network with random weights."""
    random = np.random.default_rng(0)
    noise = random.standard_normal((sizes["S"], sizes["B"], 2)).astype(np.float32)
    start = random.standard_normal((sizes["B"], 2)).astype(np.float32)
    return {"noise": noise, "start": start}, mlp_params(random, "net", [18, 64, 64, 2])


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The schedule is computed once, before the loop."""
    count = sizes["S"]

    def run(given: Tensors) -> Tensors:
        net = layers(given, "net")
        s = jnp.arange(count, dtype=jnp.float32)
        beta = 1e-4 + (0.05 - 1e-4) * s / count
        kept = jnp.cumprod(1 - beta)
        angle = s[:, None] * 10000.0 ** (-jnp.arange(8) / 8)
        when = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=1)

        def step(x: jax.Array, given: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
            beta, kept, when, noise = given
            seen = jnp.concatenate([x, jnp.broadcast_to(when, (len(x), 16))], axis=1)
            mean = (x - beta / jnp.sqrt(1 - kept) * mlp(net, seen)) / jnp.sqrt(1 - beta)
            return mean + jnp.sqrt(beta) * noise, None

        xs = (beta[1:], kept[1:], when[1:], given["noise"][1:])
        x, _ = jax.lax.scan(step, given["start"], xs, reverse=True)
        return {"points": x}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"S": 200, "B": 256}, small={"S": 5, "B": 3})
