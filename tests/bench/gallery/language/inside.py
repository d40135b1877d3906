"""A scan over lengths of spans, all spans of a length at once: tables by their starts and ends."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

A, V = 16, 40


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """A random grammar, in which words are likely, and random sentences."""
    random = np.random.default_rng(0)
    word = random.integers(0, V, (sizes["S"], sizes["N"])).astype(np.int32)
    rule, emit = random.standard_normal((A, A, A)), random.standard_normal((A, V)) + 2.0
    return {"word": word}, {"rule": rule.astype(np.float32), "emit": emit.astype(np.float32)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """`by[d, i]` is of the span of `d + 1` words from `i` on, `ends[d, i]` of that up to `i`."""
    count = sizes["N"]

    def sentence(w: jax.Array, lex: jax.Array, word: jax.Array) -> jax.Array:
        k = jnp.arange(count)
        by = jnp.zeros((count, count, A)).at[0].set(V * lex[:, word].T)

        def step(
            tables: tuple[jax.Array, jax.Array], d: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array], None]:
            by, ends = tables
            right = jnp.roll(jnp.take(ends, jnp.clip(d - 1 - k, 0, count - 1), 0), -d, 1)
            right = jnp.where((k < d)[:, None, None], right, 0.0)
            both = jnp.einsum("knb,knc->nbc", by, right)
            new = jnp.einsum("nbc,abc->na", both, w)
            new = jnp.where((k < count - d)[:, None], new, 0.0)
            return (by.at[d].set(new), ends.at[d].set(jnp.roll(new, d, 0))), None

        (by, _), _ = jax.lax.scan(step, (by, by), jnp.arange(1, count))
        return jnp.log(by[count - 1, 0, 0])

    def like(rule: jax.Array, given: Tensors) -> tuple[jax.Array, jax.Array]:
        every = jnp.concatenate([rule.reshape(A, A * A), given["emit"]], 1)
        total = jax.nn.logsumexp(every, 1)
        w, lex = jnp.exp(rule - total[:, None, None]), jnp.exp(given["emit"] - total[:, None])
        each = jax.vmap(lambda word: sentence(w, lex, word))(given["word"])
        return each.sum(), each

    def run(given: Tensors) -> Tensors:
        (_, each), usage = jax.value_and_grad(like, has_aux=True)(given["rule"], given)
        return {"total": each, "usage": usage}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"S": 8, "N": 20},
    small={"S": 2, "N": 4},
)
