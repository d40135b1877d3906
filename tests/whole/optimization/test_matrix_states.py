"""States that are sums of outer products: one is carried, none is stored for all points."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree, all_equal
from tests.whole.device.test_buckets import emitted

HEAD = """
dim t < T
input w: f32[24, 24]
input q[t]: f32[24]
input x[t]: f32[24]
input v[t]: f32[24]
k = tanh(w @ x)
"""
RECURRENCE = """
S[t] = einsum("i,j->ij", k, v) when t == 0
S[t] = 0.5 * S[t-1] + einsum("i,j->ij", k, v)
o = q @ S
"""
PREFIX = """
S = k[0:t+1].T @ v[0:t+1]
o = q @ S
"""
SUFFIX = """
S = einsum("ai,aj->ij", k[t:T], v[t:T])
o = q @ S
"""
GRADIENT = """
loss = sum((o ** 2)[t = 0:T])
g = grad(loss, w)
output loss, g
"""
FEEDBACK = """
dim t < T
input w: f32[24, 24]
input v[t]: f32[24]
y[0] = v[0]
y[t] = tanh(w @ y[t-1] + 0.01 * o[t-1])
S = y[0:t+1].T @ v[0:t+1]
o = y @ S
output o[T-1] as last
"""
DELTA = """
d = sigmoid(x)
u = cos(v)
e = sin(x)
S[t] = einsum("i,j->ij", k, v) when t == 0
more = einsum("i,j->ij", x, v) + einsum("i,j->ij", q, u)
S[t] = d * S[t-1] - einsum("i,j->ij", S[t-1] @ k, e) + more
"""
CASES = {
    "a recurrence": HEAD + RECURRENCE + "output o",
    "its gradient": HEAD + RECURRENCE + GRADIENT,
    "a prefix": HEAD + PREFIX + "output o",
    "the gradient of a prefix": HEAD + PREFIX + GRADIENT,
    "a suffix": HEAD + SUFFIX + "output o",
    "a prefix of what it makes itself": FEEDBACK,
    "a delta rule": HEAD + DELTA + "o = S @ q\noutput o",
}
SCAN = HEAD + DELTA + "o = w @ S\noutput o"
COMPARED = (
    "its gradient",
    "the gradient of a prefix",
    "a suffix",
    "a prefix of what it makes itself",
    "a delta rule",
)
MATRICES = ("T, 24, 24", "T-1, 24, 24", "24, 24, T")


@pytest.mark.parametrize("name", COMPARED)
def test_they_are_what_the_evaluator_says(name: str) -> None:
    text = CASES[name]
    for size in (1, 2, 5):
        agree(text, *all_equal(text, size))


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_none_is_stored_for_all_points(text: str) -> None:
    kernels = emitted(text, None).kernels
    assert not [shape for shape in MATRICES if f"({shape})" in kernels]


def test_a_scan_makes_outer_products_in_its_steps() -> None:
    kernels = emitted(SCAN, None).kernels
    taken = kernels.split("def S_rows(")[1].split(")")[0]
    assert "more" not in taken
    assert {"x", "v", "q", "u"} <= {name.strip().removesuffix("2") for name in taken.split(",")}
    agree(SCAN, *all_equal(SCAN, 3))
