"""Sums and extremes for which XLA for CPUs calls a slow library are computed by XLA itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.runtime.rewriting.whole_loops import with_whole_loops

RANDOM = np.random.default_rng(3)
TABLE = RANDOM.standard_normal((50, 16)).astype(np.float32)
PLACES = RANDOM.integers(0, 50, (40, 20, 5)).astype(np.int32)
ROWS = RANDOM.standard_normal((40, 20, 5, 16)).astype(np.float32)
CODE = RANDOM.standard_normal((5, 16)).astype(np.float32)
LONG = RANDOM.standard_normal((3, 32768)).astype(np.float32)


def gathered(table, places, code):
    return jnp.sum(table[places] * code, axis=2)


def helped(table, places, code):
    """A sum in a function of the module."""
    return gathered(table, places, code)


def last(rows):
    return jnp.sum(jnp.exp(rows.reshape(-1, 5)), axis=-1)


def long_rows(rows):
    return jnp.sum(jnp.tanh(rows), axis=0)


def long_rows_of_two_axes(rows):
    return jnp.sum(jnp.tanh(rows[None]), axis=(0, 1))


def double(rows):
    return jnp.sum(rows.astype(jnp.float64) ** 2, axis=2)


def common_factor(rows):
    return jnp.sum(rows * rows[:1], axis=1)


def common_factor_of_columns(rows):
    """As in the gradient of a factor."""
    return jnp.sum(rows * rows[:, :, :1], axis=1)


def nested(rows):
    """In a loop, in a branch."""

    def step(k, total):
        return lax.cond(k < 2, lambda: total + jnp.sum(rows * k, axis=2), lambda: total)

    return lax.fori_loop(0, 3, step, jnp.zeros((40, 20, 16)))


def rows_of_single_columns(rows):
    """An axis of length 1 behind the last one that has elements."""
    weights = jnp.exp(rows.reshape(-1, 5, 1))
    return weights / jnp.sum(weights, axis=1, keepdims=True)


def moved(rows):
    """Another view of what is added is used by others, which computes nothing."""
    others = lax.while_loop(lambda x: x[0, 0, 0, 0] > 9.0, lambda x: x / 2.0, rows)
    view = others.reshape(20, 40, 5, 16)
    return jnp.sum(view * view[:, ::-1], axis=2) + view[:, :, 0]


def few_elements(rows):
    return jnp.sum(rows[:2], axis=2)


def many(rows):
    return jnp.sum(rows.reshape(-1, 20), axis=-1)


def long_common_factor(rows):
    """Added in parts, with fewer errors."""
    return jnp.sum(
        jnp.tile(rows[:, :1, :2, :2], (1, 5000, 1, 1)) * jnp.ones((1, 5000, 1, 1)), axis=1
    )


def factor_of_rows(rows):
    """The same for all elements of a sum."""
    return jnp.sum(rows * rows[:, :1], axis=1)


def factor_within_rows(rows):
    return jnp.sum(rows * rows[:1, :, :, :1], axis=1)


def costly(rows):
    return jnp.sum(jnp.exp(rows), axis=2)


def shared(rows):
    """What is added is read by others as well, as in softmax."""
    weights = rows / 2.0 + 1.0
    return weights / jnp.sum(weights, axis=2, keepdims=True)


def shared_view(rows):
    view = (rows / 2.0).reshape(20, 40, 5, 16)
    return jnp.sum(view + 1.0, axis=2) + view[:, :, 0]


def two_axes(rows):
    return jnp.sum(rows, axis=(1, 2))


def single(rows):
    """XLA leaves such a plain sum out."""
    return jnp.sum(rows.reshape(-1, 1, 16), axis=1)


def whole_numbers(rows):
    return jnp.sum(rows.astype(jnp.int32), axis=2, dtype=jnp.int32)


def maxima(rows):
    return jnp.max(rows * 2.0, axis=2)


def minima(rows):
    return jnp.min(rows.reshape(-1, 10), axis=-1)


def whole_maxima(rows):
    return jnp.max(rows.astype(jnp.int32), axis=2)


def sixteen(rows):
    """As many as the library's vectors have elements."""
    weights = jnp.exp(rows)
    return weights / jnp.sum(weights, axis=-1, keepdims=True)


def rewritten(function):
    return with_whole_loops(function, 32768, 4096, 16)


def sums_in(function, *given):
    """How many sums of a function are plain ones, and how many are written by differences."""
    text = str(jax.make_jaxpr(function)(*given))
    return sum(text.count(f"reduce_{n}[") for n in ("sum", "max", "min")), text.count("reduce[")


def many_steps(rows):
    """More operators, one after the other, than Python has frames."""
    for _ in range(1000):
        rows = abs(rows)
    return jnp.sum(rows, axis=2)


SLOW = [
    (gathered, (TABLE, PLACES, CODE)),
    (helped, (TABLE, PLACES, CODE)),
    (last, (ROWS,)),
    (long_rows, (LONG,)),
    (long_rows_of_two_axes, (LONG,)),
    (double, (ROWS,)),
    (nested, (ROWS,)),
    (many_steps, (ROWS,)),
    (common_factor, (ROWS,)),
    (common_factor_of_columns, (ROWS,)),
    (maxima, (ROWS,)),
    (minima, (ROWS,)),
    (rows_of_single_columns, (ROWS,)),
    (moved, (ROWS,)),
]


@pytest.mark.parametrize(("function", "given"), SLOW)
def test_slow_sums_are_added_one_after_the_other(function, given):
    with jax.enable_x64(function is double):
        assert sums_in(function, *given) == (1, 0)
        assert sums_in(rewritten(function), *given) == (0, 1)
        found, wanted = jax.jit(rewritten(function))(*given), jax.jit(function)(*given)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "function",
    [
        few_elements,
        many,
        costly,
        shared,
        shared_view,
        factor_of_rows,
        factor_within_rows,
        long_common_factor,
        two_axes,
        sixteen,
        single,
    ],
)
def test_other_sums_stay(function):
    assert sums_in(rewritten(function), ROWS) == (1, 0)
    np.testing.assert_array_equal(jax.jit(rewritten(function))(ROWS), jax.jit(function)(ROWS))


@pytest.mark.parametrize("function", [whole_numbers, whole_maxima])
def test_whole_numbers_stay(function):
    assert sums_in(rewritten(function), ROWS) == sums_in(function, ROWS)


def test_a_library_is_called_no_more():
    """If XLA calls none for plain sums any more, they need not be rewritten."""
    for function, given in SLOW[:1]:
        calls = [
            jax.jit(f).lower(*given).compile().as_text().count("__ynn_fusion")
            for f in (function, rewritten(function))
        ]
        assert calls[1] == 0
        assert calls[0] == 1 or jax.__version__ != "0.10.2"


@pytest.mark.parametrize("x64", [False, True])
def test_special_numbers_are_the_same(x64):
    special = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-45])
    rows = RANDOM.choice(special, (4096, 3))
    rows[:50] = RANDOM.choice(special[:2], (50, 3))
    with jax.enable_x64(x64):
        rows = rows.astype(np.float64 if x64 else np.float32)

        def total(rows):
            return jnp.sum(rows, axis=1)

        assert sums_in(rewritten(total), rows) == (0, 1)
        found = np.asarray(jax.jit(rewritten(total))(rows))
        wanted = np.asarray(jax.jit(total)(rows))
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found[:50]), np.signbit(wanted[:50]))


@pytest.mark.parametrize(
    ("extreme", "of_numpy"),
    [
        (lambda rows: jnp.max(rows, axis=1), lambda rows: np.max(rows, axis=1)),
        (lambda rows: jnp.min(rows, axis=1), lambda rows: np.min(rows, axis=1)),
        (lambda rows: jnp.max(rows.T, axis=0), lambda rows: np.max(rows, axis=1)),
        (lambda rows: jnp.min(-rows.T, axis=0), lambda rows: np.min(-rows, axis=1)),
    ],
)
def test_extremes_are_those_of_numpy(extreme, of_numpy):
    """The library may lose NaN."""
    special = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, -3.0], np.float32)
    rows = RANDOM.choice(special, (4096, 3))
    assert sums_in(rewritten(extreme), rows) == (0, 1)
    np.testing.assert_array_equal(jax.jit(rewritten(extreme))(rows), of_numpy(rows))


def test_long_rows_that_are_given_stay_if_they_are_added_along_several_axes():
    def total(rows):
        return jnp.sum(rows, axis=(0, 1))

    assert sums_in(rewritten(total), LONG.reshape(1, 3, -1)) == (1, 0)


def test_functions_that_name_no_sum_stay():
    def plain(rows):
        return rows * 2.0

    assert rewritten(plain) is plain
    assert with_whole_loops(gathered, 1, 1, 1) is gathered
