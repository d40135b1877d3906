"""XLA for CPUs seeks greatest elements in loops, and sorts integers, not pairs or floats."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.ops.indexing.search import ARGSORTED, GREATEST_FIRST, IN_ORDER, LEAST_FIRST

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


SORTED: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
exec(ARGSORTED + IN_ORDER, SORTED)
DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint16", "uint32", "bool")


@pytest.mark.parametrize("axis", (0, 1))
@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_keep_their_order_and_no_number_comes_last(dtype: str, axis: int) -> None:
    numbers = np.array([2, -0.0, 0.0, np.nan, 7, -3, np.inf, -np.nan, 0.0, -0.0, -np.inf, 2, -1])
    floats = dtype.startswith("float")
    row = (numbers if floats else np.where(np.isfinite(numbers), numbers, 9)).astype(dtype)
    if dtype == "float32":  # XLA's own sort takes subnormal numbers for 0
        row = np.append(row, np.float32([1e-40, 2e-40, 0, -1e-40, -2e-40, -0.0, 1e-40]))
    x = np.stack([row, row[::-1], np.roll(row, 3)])
    wanted = np.argsort(x, axis, kind="stable")
    with jax.enable_x64("64" in dtype):
        assert np.array_equal(SORTED["argsorted"](x, axis), wanted)
        rows = jax.jit(jax.vmap(lambda v: SORTED["argsorted"](v, 0), in_axes=1 - axis))(x)
        assert np.array_equal(rows, np.moveaxis(wanted, 1 - axis, 0))
        if floats:
            made = np.asarray(SORTED["in_order"](x, axis))
            assert made.tobytes() == np.take_along_axis(x, wanted, axis).tobytes()


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="only XLA for CPUs is slow")
@pytest.mark.parametrize("name", ("argsorted", "in_order"))
def test_integers_are_sorted_alone(name: str) -> None:
    text = jax.jit(lambda x: SORTED[name](x, 0)).lower(jnp.zeros(64)).as_text("hlo")
    assert [line.split()[2] for line in text.splitlines() if " sort(" in line] == ["u64[64]{0}"]
