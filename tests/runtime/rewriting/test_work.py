"""What a function is estimated to take with arrays for more rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.codegen.program.run_tuning import RUN_TUNING
from tempoc.runtime.rewriting.lengths.kernels import common_form, traced
from tempoc.runtime.rewriting.lengths.sizes import Probes
from tempoc.runtime.rewriting.lengths.work import Workload


def taken(
    function: Callable[[int, Any], Any], rows: int, length: int, *, is_padded: bool = False
) -> int:
    """The bytes for a length with so many rows; the function is given arrays of numbers."""
    probes = Probes((length,), (length + 48,))
    arrays = [jax.ShapeDtypeStruct((n, 8), jnp.float32) for (n,) in probes.lengths]
    kernels = [
        traced(lambda x, n=a.shape[0]: function(n, x), (a,))  # type: ignore[misc]
        for a in arrays
    ]
    workload = Workload((rows,), (length,), RUN_TUNING, is_padded=is_padded)
    return workload.of(common_form(kernels, probes), {})


def test_rows_that_a_loop_writes_are_updated_in_place() -> None:
    """So padding costs next to nothing, and twice the steps take twice as long."""

    def state(n: int, x: Any) -> Any:
        def step(t: Any, h: Any) -> Any:
            return lax.dynamic_update_index_in_dim(h, jnp.tanh(h[t] + x[t]), t, 0)

        return lax.fori_loop(0, n, step, jnp.zeros((n, 8)))

    exact = taken(state, 1000, 1000)
    assert taken(state, 2000, 1000) < 1.1 * exact
    assert 1.9 * exact < taken(state, 2000, 2000) < 2.1 * exact


def test_one_branch_counts() -> None:
    def either(n: int, x: Any) -> Any:
        return lax.cond(x[0, 0] > 0, lambda y: jnp.sort(y, 0), lambda y: jnp.sort(-y, 0), x)

    def one(n: int, x: Any) -> Any:
        return lax.cond(x[0, 0] > 0, lambda y: y, lambda y: jnp.sort(-y, 0), x)

    assert taken(either, 500, 500) == taken(one, 500, 500)


def one(function: Callable[..., Any], numbers: dict[int, Any]) -> int:
    """The bytes for two coordinates and 800 numbers, where some are known."""
    given = jax.ShapeDtypeStruct((2,), jnp.int32), jax.ShapeDtypeStruct((100, 8), jnp.float32)
    form = common_form([traced(function, given)], Probes((), ()))
    return Workload((), (), RUN_TUNING, is_padded=False).of(form, numbers)


def test_loops_turn_as_often_as_numbers_say_that_are_known() -> None:
    """A loop up to what another one counts has half of its turns, in the mean."""

    def once(at: Any, x: Any) -> Any:
        return jnp.sort(x, 0)

    def often(at: Any, x: Any) -> Any:
        return lax.fori_loop(at[0], jnp.minimum(at[1] + 2, 50), lambda i, y: once(at, y), x)

    def triangle(at: Any, x: Any) -> Any:
        def row(i: Any, y: Any) -> Any:
            return lax.fori_loop(0, i, lambda j, z: once(at, z), y)

        return lax.fori_loop(0, at[1], row, x)

    def turns(function: Callable[..., Any], *numbers: int) -> int:
        return round(one(function, {0: np.array(numbers)} if numbers else {}) / one(once, {}))

    assert [turns(often, 3, last) for last in (5, 99, 0)] == [4, 47, 0]
    assert turns(triangle, 0, 10) == 10 * 5
    assert turns(often) == 1


def test_numbers_that_overflow_are_told_without_a_warning(recwarn: Any) -> None:
    """A loop carries one that its start gives, as those of a random generator are."""

    def often(at: Any, x: Any) -> Any:
        def step(k: Any, state: Any) -> Any:
            return state[0] + -1013904223, lax.fori_loop(0, state[0], lambda j, y: y * 2, state[1])

        return lax.fori_loop(0, at[1], step, (at[0] - 2_000_000_000, x))

    middle = 2**32 - 2_000_000_000 - 1013904223
    loop = one(lambda at, x: lax.fori_loop(0, middle, lambda j, y: y * 2, x), {})
    assert one(often, {0: np.array([0, 2], np.int32)}) / (2 * loop) == pytest.approx(1, rel=0.01)
    assert not recwarn.list


def test_loops_that_data_end_turn_as_often_as_they_may() -> None:
    def ends(at: Any, x: Any) -> Any:
        def goes_on(state: Any) -> Any:
            return (state[0] < 20) & (state[1][0, 0] > 0)

        return lax.while_loop(goes_on, lambda s: (s[0] + 1, jnp.sort(s[1], 0)), (5, x))

    assert round(one(ends, {}) / one(lambda at, x: jnp.sort(x, 0), {})) == 15


def test_what_is_summed_is_masked_before() -> None:
    """Both operands of a product are arrays of their own, which takes the square of a length."""

    def product(n: int, x: Any) -> Any:
        return (x @ x.T) @ x

    def summed(n: int, x: Any) -> Any:
        return jnp.sum(x)

    def padded(rows: int) -> int:
        return taken(product, rows, 300, is_padded=True) - taken(product, rows, 300)

    assert padded(400) == 4 * (400 * 400 + 8 * 400)
    assert taken(summed, 300, 300, is_padded=True) == taken(summed, 300, 300) + 300 * 8 * 4 // 4


def test_what_is_fused_takes_less() -> None:
    def light(n: int, x: Any) -> Any:
        return jnp.tanh(x) * 2

    def heavy(n: int, x: Any) -> Any:
        return jnp.sort(jnp.sort(x, 0), 1)

    assert taken(light, 800, 800) * 4 == taken(heavy, 800, 800)


def test_windows_take_what_they_sum() -> None:
    def windows(rows: int, start: Any) -> Callable[[int, Any], Any]:
        return lambda n, x: lax.reduce_window(x, start(0), lax.add, (rows, 1), (1, 1), "SAME")

    for start in (float, jnp.float32):
        few, many = windows(16, start), windows(160, start)
        assert taken(few, 1000, 1000) == 4 * 8000
        assert taken(many, 1000, 1000) == 10 * taken(few, 1000, 1000)
        assert taken(many, 2000, 1000) == 2 * taken(many, 1000, 1000)
