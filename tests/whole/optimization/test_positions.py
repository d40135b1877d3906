"""Positions that are data: elements of rows, counts, changes of state, without large arrays."""

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
z[b, t] = w[i[b, 0], 0:2, j % 2]
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


# Positions go from one before a table to one after it.
TABLES = """
dim t < T
dim b < B
const S = 33
input i[t]: i32
input j[t]: i32
input r[t, b]: f32
s = i % (S + 2) - 1
a = j % 5 - 1
here = expand_dims(one_hot(s, S), 1) * one_hot(a, 3)
v[0, b] = zeros([S, 3])
v[t+1, b] = where(here > 0.0, v + r, v)
w[0, b] = zeros([S, 3])
w[t+1, b] = where((expand_dims(arange(S), 1) == s) and (w < r), w + r, w)
kept[0, b] = ones([S, 3])
kept[t+1, b] = where(expand_dims(arange(S), 1) != s, kept, r)
turned[0, b] = ones([S, 3])
turned[t+1, b] = where(r > 0.0, turned * (1 - 2 * expand_dims(one_hot(s, S), 1)), turned)
seen[0] = zeros([S, 3], dtype = i32)
seen[t+1] = seen + i32(here) * j
twice[0] = zeros([64])
twice[t+1] = where(arange(64) == s + 2, 7.0, where(arange(64) == s, twice + 1.0, twice))
both[0] = zeros([3, 3, 8])
column = expand_dims(arange(3), 1)
both[t+1] = where(column == i % 3 and column == j % 3, f32(j), both)
output v, w, kept, turned, seen, twice[T-1] as twice, both
"""

# Every third change is infinite, and so every element NaN then, but the one that is infinite.
SUMS = """
dim t < T
dim b < B
const S = 400
input i[t, b]: i32
input r[t, b]: f32
s = i % (S + 2) - 1
q[0, b] = zeros([S, 3])
q[t+1, b] = q + r * expand_dims(one_hot(s, S), 1) * one_hot(i % 3, 3)
z[0, b] = zeros([3, S])
z[t+1, b] = z - expand_dims(stack([1.0, 1.0 / ((t + 1) % 3), r]), 1) * one_hot(s, S)
m[0, b] = zeros([5, 80])
m[t+1, b] = m + expand_dims(one_hot(i % 5, 5), 1) * (one_hot(i % 7, 80) - one_hot(i % 80, 80))
output q[T-1, 0:B] as q, z[T-1, 0:B] as z, m[T-1, 0:B] as m
"""
PUT = """
dim t < T
dim b < B
input i[t, b]: i32
input r[t, b]: f32
x[0, b] = zeros([4, 3])
x[t+1, b] = put(put(x, i % 4, r), i % 3 - 3, take(x, i % 4, 0)[0] * r, axis = 1)
loss = sum(x * x)
slope = grad(loss, r)
output x, slope
"""

ADDED = """
dim t < T
dim b < B
const S = 40
input i[t, b]: i32[3]
input r[t, b]: f32[3, 2]
c[0, b] = zeros([S, 2])
c[t+1, b] = c + segment_sum(r, i % S, S)
d[0] = zeros([2, S])
d[t+1] = reshape(segment_sum(r[t, 0][:, 0], (i[t, 0] * 5) % (2 * S), 2 * S), [2, S]) + d
n[0] = ones([S * 2], dtype = i32)
n[t+1] = n + segment_sum(i[t, 0:B] % 7, abs(i[t, 0:B] + (n)[2]) % S, S * 2)
last = c[T-1, 0:B]
output last, d, n
"""

# Gradients of elements that data choose: in rows of one tensor that all points share, in rows of
# each point, in the only row; of positions from the end; several times the same position.
PLACED = """
dim b < B
dim t < T
input x[b]: f32[3]
input i[b, t]: i32[3]
input w: f32[3, 5]
input u[t]: f32[7]
def pick(a, k) = squeeze(take_along(a, expand_dims(k, 1), 1), 1)
low = pick(w, i % 5)
high = pick(w, i % 5 - 5)
columns = take_along(w, reshape(concat([i, i[b, 0][0:2]], 0) % 3, [1, 5]), 0)
best, place = top_k(u, 3)
cost = mean((exp(low * x) / (high * high + 1.0) + sum(columns) * low)[b = 0:B], axis = 0)
loss[t] = sum(cost * best * take_along(u, i[0, t] % 7, 0))
slope = grad(loss, w)
ascent = grad(loss, u)
v[0] = w
v[t+1] = v - 0.1 * grad(error, v)
error[t] = sum(pick(v[t], i[0, t] % 5) ** 2)
output slope, ascent, v[T-1] as last
"""


@pytest.mark.parametrize("text", [ROWS, COUNTS, JOINED, TABLES, SUMS, PUT, ADDED, PLACED])
def test_they_are_what_the_evaluator_says(text: str) -> None:
    agree(text, *all_equal(text, 1, 2, 5))


def test_no_row_is_made_for_its_element() -> None:
    kernels = emitted(ROWS, None).kernels
    assert "lax.collapse(w, 0, 2)" in kernels and "lax.collapse(w, 0, 3)" in kernels
    assert "jnp.zeros((42, 2), jnp.float32).at[" in kernels


def test_nothing_is_compared_with_each_number_that_is_counted() -> None:
    assert "arange" not in emitted(COUNTS, None).kernels.replace("jnp.arange(T,", "")


def test_gradients_of_picked_elements_are_added_at_their_places() -> None:
    kernels = emitted(PLACED, None).kernels
    assert "jnp.zeros((15,), jnp.float32).at[" in kernels
    assert "jnp.zeros((7,), jnp.float32).at[" in kernels


def test_a_short_window_has_as_many_rows_as_it_needs() -> None:
    assert "x[:max(0, min(4, T-32))]" in emitted(JOINED, None).kernels


def test_no_table_is_computed() -> None:
    kernels = emitted(TABLES, None).kernels
    assert "jnp.arange(33" not in kernels and "jnp.arange(64" not in kernels
    assert kernels.count("].set(") == 8


def test_sums_by_position_are_added_where_they_lie() -> None:
    kernels = emitted(ADDED, None).kernels
    assert kernels.count("].add(") == 3
    assert kernels.split("def block")[0].count("jnp.zeros((40") == 1  # where the state starts


def test_a_sum_looks_whether_what_is_added_is_zero() -> None:
    kernels = emitted(SUMS, None).kernels
    assert "jnp.arange(400" not in kernels and kernels.count("= put_into_sum(") == 2
    assert "m.at[" in kernels


ENDS = {
    "the greatest": "y = sort(x)[69]\nz = sort(x)[-1]",
    "a few of the greatest": "y = sort(x)[65]\nz = sort(x)[-5:70:2]",
    "a few of the least": "y = sort(x)[0]\nz = sort(x)[1:6:2]",
    "integers": "q = i32(clip(x * 3.0, -9.0, 9.0))\ny = sort(q)[0]\nz = sort(q)[-5:70]",
    "of rows": "q = reshape(x, [7, 10])\ny = sort(q)[:, 9]\nz = sort(q, axis = 0)[6]",
    "of what grows": "y[t] = sort(x[0:t+1][:, 3])[t]\nz[t] = sort(x[0:t+1][:, 5])[0]",
    "with gradients": "y = sort(x)[69] + 2.0 * sort(x)[3]\nz = grad(y, x)",
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_ends_of_what_is_sorted(name: str) -> None:
    """Ties and NaN among them."""
    text = f"dim t < T\ninput x[t]: f32[70]\n{ENDS[name]}\noutput y, z\n"
    agree(text, {"T": 1}, {"T": 3}, {"T": 9}, special=True, levels=(1, 2))


ONE_ROW = """\
dim t < T
input x[t]: f32[70]
input k[t]: i32
input E: f32[70, 5]
a[0] = x[t = 0]
a[t] = tanh(a[t-1] + sum(where(arange(70) == k, a[t-1], 0.0)))
j = clip(k, -1, 1) * 40 + 35
row = sum(where(expand_dims(arange(70) == j, 1), E, 0.0), axis = 0)
some = sum(where(arange(70) == j and x > 0.0, einsum("i,j->ij", x, x), 0.0), axis = 1)
cost = sum(where(expand_dims(arange(70) == j, 1), E * expand_dims(x, 1), 0.0))
by_x = grad(cost, x)
by_E = grad(cost, E)
output a, row, some, cost, by_x, by_E
"""


@pytest.mark.parametrize("special", [False, True])
def test_sums_of_one_row(special: bool) -> None:
    """Of positions that are inside, before the first and after the last."""
    agree(ONE_ROW, {"T": 1}, {"T": 3}, {"T": 12}, special=special, levels=(1, 2))


TAKEN = """
dim t < T
input x[t]: f32[7]
input w: f32[7]
input j[t]: i32[4]
input z[t]: f32[2, 5]
v, at = top_k(x * w, 3)
along = take_along(x * w, j % 7 - 7, 0)
loss = sum((sum(v ** 2) + sum(along ** 2) * f32((at)[0]))[t = 0:T])
g = grad(loss, w)
gx = grad(loss, x)
rows = sum(sum(take_along(z ** 2, reshape(j, [2, 2]) % 5, 1))[t = 0:T])
gz = grad(rows, z)
output g, gx, gz
"""


@pytest.mark.parametrize("special", [False, True])
def test_slopes_of_what_is_taken_of_a_vector(special: bool) -> None:
    agree(TAKEN, {"T": 1}, {"T": 3}, special=special, levels=(2,) if special else (0, 2))


def test_they_are_added_at_their_places() -> None:
    text = emitted(TAKEN.replace("output g, gx, gz", "output g, gx"), None).kernels
    assert text.count(".at[") == 2 and "one_hot" not in text
