"""A scan over tokens within one over sweeps; counts are updated in place."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

K, V, DOCS = 50, 1000, 40


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Each document has words of its own."""
    random = np.random.default_rng(0)
    doc = np.sort(random.integers(0, DOCS, sizes["N"])).astype(np.int32)
    word = (random.integers(0, 20, sizes["N"]) + doc * 10) % V
    z0 = random.integers(0, K, sizes["N"]).astype(np.int32)
    u = random.random((sizes["S"], sizes["N"])).astype(np.float32)
    return {"word": word.astype(np.int32), "doc": doc, "z0": z0, "u": u}, {}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Single elements of the counts go up and down."""
    a, b = 0.1, 0.01
    Counts = tuple[jax.Array, jax.Array, jax.Array]

    def run(given: Tensors) -> Tensors:
        word, doc, z0 = given["word"], given["doc"], given["z0"]

        def changed(counts: Counts, w: jax.Array, d: jax.Array, z: jax.Array, by: float) -> Counts:
            nd, nw, nk = counts
            return nd.at[d, z].add(by), nw.at[w, z].add(by), nk.at[z].add(by)

        def token(counts: Counts, x: tuple[jax.Array, ...]) -> tuple[Counts, jax.Array]:
            w, d, z, u = x
            nd, nw, nk = counts = changed(counts, w, d, z, -1.0)
            share = jnp.cumsum((nd[d] + a) * (nw[w] + b) / (nk + V * b))
            z = jnp.minimum(jnp.sum(share < u * share[-1]), K - 1).astype(jnp.int32)
            return changed(counts, w, d, z, 1.0), z

        def sweep(
            carry: tuple[Counts, jax.Array], u: jax.Array
        ) -> tuple[tuple[Counts, jax.Array], None]:
            counts, z = carry
            return jax.lax.scan(token, counts, (word, doc, z, u)), None

        none = jnp.zeros((DOCS, K)), jnp.zeros((V, K)), jnp.zeros(K)
        start = changed(none, word, doc, z0, 1.0)
        (counts, z), _ = jax.lax.scan(sweep, (start, z0), given["u"])
        return {"last": z, "topics": counts[1]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"S": 20, "N": 800}, small={"S": 2, "N": 5})
