"""Positions that are data: elements of rows that data choose, and counts, without large arrays."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree, all_equal
from tests.whole.device.test_buckets import emitted

ROWS = """
dim b < B
dim t < T
input i[b, t]: i32
input j[b, t]: i32
input w: f32[6, 7, 2]
x = w[i][j]
y = w[i][j][j % 2]
z[b, t] = x[b, t] when t % 2 == 0
z[b, t] = w[i[b, 0]][:, j % 2][0:2]
loss[b] = sum((sum(x * x * x) + y)[t = 0:T])
slope = grad(loss, w)
v[0] = w
v[t+1] = v - 0.1 * grad(cost, v)
cost[t] = sum(v[t][i[0, t]][j[0, t]] ** 2)
output x, y, z, slope, v[T-1] as last
"""

COUNTS = """
dim b < B
dim t < T
input i[b, t]: i32
every = sum(one_hot(i, 4)[b = 0:B, t = 0:T], axis = [0, 1])
past = sum(one_hot(i[b, 0:t+1], T), axis = 0)
ahead[b, t] = sum(one_hot(i - 2, 3)[t = t:T], axis = 0)
whole = sum(one_hot(stack([i, -i, i]), 5, dtype = i32), axis = 0)
output every, past, ahead, whole
"""

JOINED = """
dim t < T
input x[t]: f32[3]
input q[t]: f32[3]
keys = concat([x[t = 0:min(2, max(0, t-2))], x[t = max(0, t-2):t+1]], 0)
y = sum(exp(keys @ q))
first = sum(x[t = 0:min(4, max(0, t-31))], axis = 0)
output y, first
"""


@pytest.mark.parametrize("text", [ROWS, COUNTS, JOINED])
def test_they_are_what_the_evaluator_says(text: str) -> None:
    agree(text, *all_equal(text, 1, 2, 5))


def test_no_row_is_made_for_its_element() -> None:
    kernels = emitted(ROWS, None).kernels
    assert "lax.collapse(w, 0, 2)" in kernels and "lax.collapse(w, 0, 3)" in kernels
    assert "jnp.zeros((42, 2), jnp.float32).at[" in kernels


def test_nothing_is_compared_with_each_number_that_is_counted() -> None:
    assert "arange" not in emitted(COUNTS, None).kernels.replace("jnp.arange(T,", "")


def test_a_short_window_has_as_many_rows_as_it_needs() -> None:
    assert "x[:max(0, min(4, T-32))]" in emitted(JOINED, None).kernels
