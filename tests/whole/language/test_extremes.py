"""Maxima and minima of many elements, among which XLA's library for CPUs loses a NaN."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.ops.tensor.reduction import EXTREME, GREATEST
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import Settings, run_given
from tests.support.agreement import agree, compile_text

SHAPES = [
    ((70, 80), (0,)),
    ((70, 80), (1,)),
    ((70, 80), (0, 1)),
    ((5, 6), (0,)),
    ((400, 400), (1,)),
    ((400, 400), (0,)),
    ((8, 150, 150), (1,)),
]
FUNCTIONS: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
exec(EXTREME, FUNCTIONS)
exec(GREATEST, FUNCTIONS)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_are_those_of_numpy(
    dtype: type[np.floating[Any]], shape: tuple[int, ...], axes: tuple[int, ...], name: str
) -> None:
    plain = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    zeros = np.where(plain < 0, dtype(-0.0), dtype(0.0))
    given = [plain, zeros, np.full(shape, -np.inf, dtype), np.full(shape, np.inf, dtype)]
    for odd in (np.nan, -np.nan, np.inf, -np.inf):
        given.append(plain.copy())
        given[-1][3, 4] = odd
    with jax.enable_x64(dtype is np.float64):
        found = jax.jit(lambda x: FUNCTIONS["extreme"](getattr(jnp, name), x, axes, True))
        for x in given:
            wanted = getattr(np, name)(x, axis=axes, keepdims=True)
            np.testing.assert_array_equal(found(x), wanted)
            assert found(x).dtype == dtype


@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_infinite_maxima_are_those_of_numpy(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Finite ones may be those of the elements that are numbers."""
    plain = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    greatest = jax.jit(lambda x: FUNCTIONS["greatest"](x, axes, True))
    for others in (plain, np.full_like(plain, -np.inf), np.full_like(plain, np.inf)):
        x = others.copy()
        x[3, 4] = np.nan
        best = np.asarray(greatest(x))
        wanted = np.max(x, axis=axes, keepdims=True)
        numbers = np.nanmax(x, axis=axes, keepdims=True)
        lost = np.isfinite(numbers) & np.isnan(wanted)
        np.testing.assert_array_equal(best[~lost], wanted[~lost])
        assert (np.isnan(best[lost]) | (best[lost] == numbers[lost])).all()


def test_what_is_compared_by_bits() -> None:
    """Columns always, so that what computes them joins them; rows only of few elements."""
    for shape, axes, looked_for in (
        ((512, 512), (0,), False),
        ((512, 512), (1,), True),
        ((512, 512), (0, 1), True),
        ((4, 256, 256), (1,), False),
        ((256, 256), (1,), False),
    ):
        x = np.zeros(shape, np.float32)
        made = str(jax.make_jaxpr(lambda x, axes=axes: FUNCTIONS["extreme"](jnp.max, x, axes))(x))
        assert ("reduce_or" in made) == looked_for
        assert ("bitcast_convert_type" in made) != looked_for


def test_points_count_together() -> None:
    """Each of 30 points has 250 elements."""
    x = np.random.default_rng(0).standard_normal((30, 50, 5)).astype(np.float32)
    x[4, 5, 3] = np.nan
    found = jax.jit(jax.vmap(lambda x: FUNCTIONS["extreme"](jnp.max, x, (0,))))(x)
    np.testing.assert_array_equal(found, x.max(1))


def test_extremes_of_two_bytes() -> None:
    text = "input x: f16[70, 80]\na, b = max(x, 0), min(x, 0)\noutput a, b\n"
    agree(text, {}, special=True)


SOFTMAX = """
import nn
dim t < T
input k[t]: f32[64]
input x: f32[8, 600]
y = nn.softmax(x)
z = nn.softmax(k[0:t+1] @ k[t]) @ k[0:t+1]
output y, z
"""


@pytest.mark.parametrize("passes", [None, "canonicalize,maxima,tile{size=16},fuse"])
def test_softmax_of_many_elements_keeps_nan(passes: str | None) -> None:
    """Its maxima are taken as they are; rows with NaN are NaN."""
    given = {"k": np.ones((80, 64), np.float32), "x": np.ones((8, 600), np.float32)}
    given["k"][70, 3] = given["x"][4, 5] = np.nan
    _, loaded = compile_text(SOFTMAX, 2, passes)
    data = Given(bounds={"T": 80}, inputs=as_sources(given), params={})
    found = run_given(loaded, data, Settings()).outputs
    assert np.isnan(found["y"]).all(axis=1).tolist() == [row == 4 for row in range(8)]
    assert np.isnan(found["z"]).any(axis=1).tolist() == [t >= 70 for t in range(80)]
    assert np.isnan(found["y"]).any(axis=1).sum() == 1
