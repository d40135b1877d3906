"""A scan over anti-diagonals for each pair, with three rows of states, and its gradient."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

State = tuple[jax.Array, ...]


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random strings of twenty letters."""
    rng, pairs = np.random.default_rng(0), sizes["P"]
    a, b = (rng.integers(0, 20, (pairs, sizes[n])).astype(np.int32) for n in ("N", "M"))
    sub = rng.standard_normal((20, 20)).astype(np.float32)
    return {"a": a, "b": b}, {"sub": sub, "gap": np.float32(-2.0), "more": np.float32(-0.5)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Places on a diagonal count rows of the table."""
    n, m, never = sizes["N"], sizes["M"], -1e9
    i = jnp.arange(n)

    def run(given: Tensors) -> Tensors:
        more = given["more"]

        def moved(x: jax.Array) -> jax.Array:
            return jnp.concatenate([jnp.full(1, never), x[:-1]])

        def score(a: jax.Array, b: jax.Array, sub: jax.Array, gap: jax.Array) -> jax.Array:
            worth = sub[a][:, b]

            def step(state: State, d: jax.Array) -> tuple[State, None]:
                earlier, last, down, right = state
                j = d - i
                rim = jnp.where(i == 0, gap + more * (j - 1.0), gap + more * (i - 1.0))
                rim = jnp.where((i == 0) & (j == 0), 0.0, rim)
                before = jnp.where((i == 0) | (j == 0), rim, moved(earlier))
                match = before + worth[i, jnp.clip(j, 0, m - 1)]
                down = jnp.logaddexp(moved(last) + gap, moved(down) + more)
                down = jnp.where(i == 0, never, down)
                right = jnp.where(j == 0, never, jnp.logaddexp(last + gap, right + more))
                best = jnp.logaddexp(match, jnp.logaddexp(down, right))
                inside = (j >= 0) & (j < m)
                best, down, right = (jnp.where(inside, x, never) for x in (best, down, right))
                return (last, best, down, right), None

            row = jnp.full(n, never)
            state = jax.lax.scan(step, (row, row, row, row), jnp.arange(n + m - 1))[0]
            return state[1][n - 1]

        def total(sub: jax.Array, gap: jax.Array) -> tuple[jax.Array, jax.Array]:
            scores = jax.vmap(lambda a, b: score(a, b, sub, gap))(given["a"], given["b"])
            return scores.sum(), scores

        both = jax.value_and_grad(total, (0, 1), has_aux=True)
        (_, scores), (uses, gaps) = both(given["sub"], given["gap"])
        return {"score": scores, "uses": uses, "gaps": gaps}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"P": 32, "N": 100, "M": 80},
    small={"P": 2, "N": 4, "M": 5},
)
