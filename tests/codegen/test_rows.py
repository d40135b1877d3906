"""Rows of arrays that a loop reads, over all points of a dimension: slices, no gathers."""

from __future__ import annotations

import re

import pytest

from tests.support.agreement import agree
from tests.support.session.long import in_turns
from tests.whole.device.test_buckets import emitted

HEAD = """
dim c < C
dim t < T
input x[c, t]: f32
"""
FILTER = (
    "y[c, t] = x when t < 2\ny[c, t] = 0.5 * y[c, t-1] - 0.25 * y[c, t-2] + x[c, max(t-1, 0)] + x\n"
)
ROWS = {
    "rings": (FILTER + "output y[0:C, T-1] as y\n", r"ring_row\(y\w*, t, 1\)"),
    "all steps": (FILTER + "output y\n", r"y\w*\[t-1\]"),
    "clamped": (FILTER + "output y\n", r"x\[jnp\.maximum\(0, t-1\)\]"),
    "beside a neighbour": (
        "y[c, t] = x when t < 1\ny[c, t] = tanh(y[c, t-1] * y[max(c-1, 0), t-1]) + x\noutput y\n",
        r"\(y\w*\[t-1\], clamped\(y",
    ),
    "backwards": (
        "y[c, t] = 0.5 * y[c, t+1] + 0.25 * y[c, t+2] + x when t < T-2\ny[c, t] = x\noutput y\n",
        r"y\w*\[t\+1\]",
    ),
}


@pytest.mark.parametrize(("name", "dtype"), in_turns(ROWS, ("f32", "f64"), "both widths"))
def test_points_are_mapped_over_rows(name: str, dtype: str) -> None:
    rest, spelled = ROWS[name]
    text = HEAD.replace("f32", dtype) + rest
    kernels = emitted(text, None).kernels
    calls = re.findall(r"jax\.vmap\(point\b[^\n]*\n?[^\n]*", kernels)
    assert any(re.search(spelled, call) for call in calls), kernels
    agree(text, *({"C": c, "T": t} for c, t in ((1, 1), (2, 2), (3, 3), (2, 7))))


def test_the_first_elements_of_an_input_are_a_slice_of_the_size_that_a_store_has_now() -> None:
    """They are no gather, and zeros beyond the end of the input: the store may have more slots."""
    text = """
dim b < B
dim i < N
input a[b, i]: f32
y[b, i] = 1.0 + max(concat([zeros([1]), where(a[b, 0:i] < a[b, i], y[b, 0:i], 0.0)], 0))
output y[0:B, N-1] as last
"""
    kernels = emitted(text, None).kernels
    assert "window(a, 0, N_room, axis=0)" in kernels, kernels
    assert "jnp.take" not in kernels
    agree(text, *({"B": b, "N": n} for b, n in ((1, 1), (2, 2), (3, 3), (2, 70), (1, 130))))


PICKED = """
dim t < T
dim j < J
dim k < J
input a[j]: f32
input b[k]: f32
w[0, j] = a
past[t, j] = clip(t - 1 - j, 0, T - 1)
row[t, j, k] = w[t = past[t, j] in 0:t, j = k] when t >= 1
own[t, j] = w[t = past[t, j] in 0:t, j = j] when t >= 1
w[t, j] = min((row + b[k])[k = 0:J]) + 0.5 * own
output w
"""


def test_rows_that_data_pick_are_taken_from_the_whole_array() -> None:
    """JAX would bring the axis over which the points of a row are mapped to the front."""
    kernels = emitted(PICKED, None).kernels
    assert re.search(r"picked_row\(w\w*, ", kernels), kernels
    agree(PICKED, *({"T": t, "J": j} for t, j in ((1, 1), (2, 2), (5, 3), (7, 1))))


def test_an_element_that_all_points_read_is_no_row() -> None:
    text = "dim b < B\ndim t < T\ninput x[b, t]: f32[3]\nc = x[b, 0] - x[0, T-1]\noutput c\n"
    agree(text, *({"B": b, "T": t} for b, t in ((1, 1), (3, 2))))


def test_points_that_begin_at_a_bound_take_a_part() -> None:
    """Rows from `max(1, T-1)` on: their alias has that distance, which is no constant."""
    text = """
dim i < I
dim t < T
input x[i]: f32
y[i] = 2.0 * x
z[t] = y[min(t+1, I-1)] * y[min(max(t-1, 0), I-1)]
m = max(z[0:T])
d = grad(m, y)
output d
"""
    free = re.findall(r"def point\(i\):\n +return .*?(\w+_at_\w+)\[", emitted(text, None).kernels)
    assert not free
    agree(text, {"I": 2, "T": 3}, {"I": 5, "T": 4})


def test_a_kernel_that_writes_two_places_keeps_both() -> None:
    """One slot of `t`: the array read at `t` is the one that two branches write at `t + 1`."""
    text = """
dim b < B
dim t < T
dim l < L
dim s < S = L + 2
a[b, 0, s] = 1.0
a[b, t+1, s] = a[s = s-1] + b when s >= 2
a[b, t+1, 1] = a[s = 1] + a[s = 0]
a[b, t+1, 0] = a[s = 0] + 1.0
y = a[t = T-1, s = 0:S]
output y
"""
    agree(text, *({"B": b, "T": t, "L": n} for b, t, n in ((1, 1, 1), (2, 3, 2))))


def test_rows_that_begin_at_a_bound_are_read_at_two_distances() -> None:
    agree(
        """dim t < T
dim q < P
assume P <= T - 1
input z: f32[T-P+2, 4]
input k[q]: f32
a[t] = tanh(z[t-P]) + z[t-P+1] * 2.0 - z[t-P+2] when t >= P
o = a[P:T]
s = sum(k[0:P])
output o, s
""",
        {"T": 2, "P": 1},
        {"T": 5, "P": 2},
    )
