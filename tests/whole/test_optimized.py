"""Graphs after all passes mean what they meant before: programs once miscompiled, and generated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.driver.options import Options
from tests.support.optimized import PLAIN, assert_kept

# All rows of `y` are one: who reads all of them does not read the array that has one only.
REPEATED = """
dim t < T
dim b < B
input v[b]: f32[3]
y[t, b] = cumsum(v[0:B], axis = 0)[b]
z[t, b] = prod(y[1:t, b], axis = 0)
output y, z
"""

# `L` is 1: no point of the second equation is ever there, wherever it would be.
NEVER = """
dim i < I
dim l < L = 1
input c: f32[3]
y[i, 0] = c
y[i, l+1] = sigmoid(c) * y[i, l] + c
output y
"""

# A tile of `y` is made of earlier points of `y`.
RECURRENT = """
dim i < I
dim j < J
input x[i, j]: f32
y[i, j] = tanh(sum(y[0:i, j])) + x
z = sum(y[j = 0:J])
output z
"""
FOUND: dict[str, tuple[str, Options]] = {
    "repeated": (REPEATED, PLAIN),
    "never": (NEVER, PLAIN),
    "recurrent": (RECURRENT, replace(PLAIN, passes="vectorize,tile", tile=1)),
}


@pytest.mark.parametrize("name", FOUND)
def test_programs_once_miscompiled(name: str) -> None:
    text, options = FOUND[name]
    assert_kept(text, 1, 2, 4, options=options)
