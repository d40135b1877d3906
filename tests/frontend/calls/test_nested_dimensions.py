"""The number of a step tells which of nested dimensions is slower, also where one has one point."""

from __future__ import annotations

import pytest

from tests.support.elaborated import errors_of, value_of

PROGRAM = """
dim k < K = {k}
dim i < I
dim c < C = {c}
def count(x, dim i) {{
  n[i] = n[i-1] + x when i >= 1
  n[i] = x
  return n
}}
y[k, i, c] = count(1, (i * C + c) * K + k)
output y
"""


@pytest.mark.parametrize(("c", "k"), [(1, 1), (1, 2), (2, 1), (2, 3)])
def test_dimensions_of_one_point(c: int, k: int) -> None:
    y = value_of(PROGRAM.format(c=c, k=k), {"I": 3}, {})["y"]
    assert y == [[[(i * c + m) * k + n + 1 for m in range(c)] for i in range(3)] for n in range(k)]


def test_cells_in_layers_that_generate_have_a_state_each() -> None:
    text = """import nn
dim t < T
dim l < L
param cells[l] = nn.gru_init(3, 3)
h[0, 0] = ones([3])
y = nn.gru(h, cells, t)
h[t, l+1] = y
h[t+1, 0] = y[t, L-1]
output y
"""
    assert not errors_of(text)
