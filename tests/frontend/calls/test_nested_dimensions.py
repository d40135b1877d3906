"""The number of a step tells which of nested dimensions is slower, also where one has one point."""

from __future__ import annotations

import pytest

from tests.support.elaborated import value_of

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
