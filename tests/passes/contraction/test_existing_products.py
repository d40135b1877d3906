"""Sums of products of which another product is a part: they take that, and mean the same."""

from __future__ import annotations

import pytest

from tests.support.optimized import assert_kept

HEAD = """
import nn
dim t < T
input w[t]: f32[4]
input d[t]: f32[2]
input A[t]: f32[4, 2]
input B: f32[4, 2]
"""
TAKEN = {
    "the derivative of attention": """
y = nn.softmax(d[0:t+1] @ d) @ d[0:t+1]
g = grad(sum((y * y)[t = 0:T]), d)
output g
""",
    "shared rows": "y = w @ B\nz = sum((B @ d) * w)\noutput y, z\n",
    "transposed": "y = A.T @ w\nz = sum(w * (d @ A.T))\noutput y, z\n",
    "at fewer points": "y = w @ A\nz[t] = sum((A @ d) * w) when t >= 1\nz[t] = 1.0\noutput y, z\n",
    "a recurrence": """
h[0] = d[0]
h[t+1] = tanh(h + w @ A * sum((A @ h) * w))
output h
""",
}
STAYS = {
    "the product at fewer points": """
y[t] = w @ A when t >= 1
y[t] = d
z = sum((A @ d) * w)
output y, z
""",
    "other weights": "y = w @ A\nz[t] = sum((A @ d) * w[max(t-1, 0)])\noutput y, z\n",
    "read elsewhere": "y = w @ A\nm = (A @ d) * w\nz = sum(m)\noutput y, z, m\n",
    "a convolution": """
input c[t]: f32[5, 2]
input k: f32[3, 2, 2]
y = conv(c, k)
z = sum(y ** 2)
output z
""",
    "a convolution of the weights": """
input k: f32[1, 2, 2]
input m: f32[2, 2]
y = conv(A, k)
z = sum((A @ m) * A)
output y, z
""",
    "other letters": "P = A @ B.T\ny = P @ A\nz = sum((A @ B.T) * P, axis = 0)\noutput y, z\n",
    "product in a branch": "y = cond(sum(d) > 0, w @ A, d)\nz = sum((A @ d) * w)\noutput y, z\n",
    "in a branch": "y = w @ A\nz = cond(sum(d) > 0, sum((A @ d) * w), 0.0)\noutput y, z\n",
}


@pytest.mark.parametrize("name", [*TAKEN, *STAYS])
def test_sums_take_products_that_exist(name: str) -> None:
    compilation = assert_kept(HEAD + (TAKEN | STAYS)[name], 1, 2, 5)
    remarks = [r.message for r in compilation.remarks]
    assert any("has summed a part of it already" in m for m in remarks) == (name in TAKEN)
