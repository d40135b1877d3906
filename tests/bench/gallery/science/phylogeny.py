"""A scan over the inner nodes of a tree, put into an array, differentiated by `jax.grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A tree of which pairs of nodes, as chance has it, were joined; letters at its tips."""
    random, n, tips = np.random.default_rng(0), sizes["N"], sizes["L"]
    free, left, right = [*range(tips)], [], []
    for m in range(n):
        left.append(free.pop(random.integers(len(free))))
        right.append(free.pop(random.integers(len(free))))
        free.append(tips + m)
    site = random.integers(0, 4, (tips, sizes["S"])).astype(np.int32)
    pair = {"left": np.array(left, np.int32), "right": np.array(right, np.int32)}
    branch = random.random((n, 2)).astype(np.float32) + np.float32(0.1)
    return {**pair, "site": site}, {"rate": np.float32(0.7), "branch": branch}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """All sites at once."""
    n, tips, sites = sizes["N"], sizes["L"], sizes["S"]

    def run(given: Tensors) -> Tensors:
        def likelihood(rate: jax.Array, branch: jax.Array) -> jax.Array:
            def change(length: jax.Array) -> jax.Array:
                kept = jnp.exp(-rate * length)
                return kept * jnp.eye(4) + (1 - kept) * 0.25

            def step(up: jax.Array, node: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
                m, left, right, lengths = node
                new = (up[left] @ change(lengths[0])) * (up[right] @ change(lengths[1]))
                return up.at[tips + m].set(new), None

            up = jnp.zeros((n + tips, sites, 4)).at[:tips].set(jax.nn.one_hot(given["site"], 4))
            nodes = (jnp.arange(n), given["left"], given["right"], branch)
            up, _ = jax.lax.scan(step, up, nodes)
            return jnp.sum(jnp.log(jnp.sum(up[-1] * 0.25, -1)))

        both = jax.value_and_grad(likelihood, argnums=(0, 1))
        value, (ga, gb) = both(given["rate"], given["branch"])
        return {"ll": value, "ga": ga, "gb": gb}

    return run


PAIR = Pair(
    data=data, twin=twin, sizes={"N": 49, "L": 50, "S": 100}, small={"N": 3, "L": 4, "S": 2}
)
