"""Skip-grams with negative samples: a `lax.scan` over steps with `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Pairs of words, and words that were not near."""
    random = np.random.default_rng(0)
    steps, pairs, others = sizes["I"], sizes["N"], sizes["K"]

    def words(*shape: int) -> np.ndarray:
        return random.integers(0, 2000, shape).astype(np.int32)

    inputs = {
        "center": words(steps, pairs),
        "near": words(steps, pairs),
        "other": words(steps, pairs, others),
    }
    return inputs, {
        f"start.{name}": random.standard_normal((2000, 32)).astype(np.float32) / 6
        for name in ("word", "context")
    }


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """The state of the scan is both tables; the last update is not needed."""

    def cost(w: Tensors, row: Tensors) -> jax.Array:
        c = w["start.word"][row["center"]]
        good = jax.nn.softplus(-jnp.sum(c * w["start.context"][row["near"]], axis=-1))
        other = w["start.context"][row["other"]]
        bad = jax.nn.softplus(jnp.einsum("nd,nkd->nk", c, other)).sum(1)
        return jnp.mean(good + bad)

    def run(given: Tensors) -> Tensors:
        def step(w: Tensors, row: Tensors) -> tuple[Tensors, jax.Array]:
            loss, slope = jax.value_and_grad(cost)(w, row)
            return jax.tree.map(lambda w, slope: w - 20.0 * slope, w, slope), loss

        rows = {name: given[name] for name in ("center", "near", "other")}
        w = {name: given[name] for name in ("start.word", "start.context")}
        w, losses = jax.lax.scan(step, w, {name: row[:-1] for name, row in rows.items()})
        last = cost(w, {name: row[-1] for name, row in rows.items()})
        return {"loss": jnp.append(losses, last), "words": w["start.word"]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"I": 20, "N": 256, "K": 5}, small={"I": 3, "N": 2, "K": 2})
"""Training of word vectors, whose gradients touch few rows."""
