"""In loops XLA for CPUs looks for the greatest elements, and does not sort all of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tempoc.ops.indexing.search import GREATEST_FIRST, LEAST_FIRST

TEXTS = {"greatest_first": GREATEST_FIRST, "least_first": LEAST_FIRST}


@pytest.mark.parametrize("name", TEXTS)
def test_places_that_are_taken_apart_sort_nothing(name: str) -> None:
    names: dict[str, Any] = {"jnp": jnp, "lax": lax}
    exec(TEXTS[name], names)

    def step(i: int, x: jax.Array) -> jax.Array:
        made = names[name](x, 2)
        places = made[1] if isinstance(made, tuple) else made
        return x + 0.1 * places[:1] - 0.2 * places[1:]

    looped = jax.jit(lambda x: lax.fori_loop(0, 3, step, x)).lower(jnp.zeros(64)).compile()
    text = looped.as_text()
    assert "TopK" in text
    assert " sort(" not in text
