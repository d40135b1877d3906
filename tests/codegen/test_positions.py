"""Elements of arrays at the own position of each of many points are mapped, not gathered."""

from __future__ import annotations

import re

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree, all_equal

PASSES = "canonicalize,algebra,canonicalize,vectorize,fuse"
PLAIN = "canonicalize,vectorize,fuse"
"""Passes that keep every NaN where it is."""
HEAD = """dim b < B
dim t < T
assume T >= 2
input x[b, t]: f32[3]
c[b] = cumsum(x[t = 0:T], axis = 0)
"""
MAPPED = {
    "the first axis": "y[b, t] = tanh((c[b])[t])\noutput y",
    "another axis": "y[b, t] = tanh(transpose(c[b], [1, 0])[1, t])\noutput y",
    "from the second on": "y[b, t] = tanh((c[b])[t]) when t >= 1\ny[b, 0] = x[t = 0]\noutput y",
    "the next one": "y[b, t] = (c[b])[t] + (c[b])[t+1] when t + 1 < T\noutput y[0:B, 0:T-1]",
    "a column of an end": "w[b, t] = c[b] @ x\ny[b, t] = sum((w[t = t:T])[:, t])\noutput y",
    "a column of all so far": "w[b, t] = c[b] @ x\n"
    "y[b, t] = max((w[t = 0:t+1])[:, t]) * sum((w[t = 0:t])[:, t])\noutput y",
    "a column of a window": "w[b, t] = c[b] @ x\n"
    "y[b, t] = sum((w[t = max(0, t-1):t+1])[:, t])\noutput y",
    "a column between others": "w[b, t] = reshape(c[b] @ x, [1, T, 1]) * reshape(x, [1, 1, 3])\n"
    "y[b, t] = sum((w[t = t:T])[:, 0, t], axis = 0)\noutput y",
    "an element of one row": "w[b, t] = c[b] @ x\ny[b, t] = (w[t = T-1])[t]\noutput y",
    "counted from a bound": "dim p < P\nassume P <= T\n"
    "y[b, p] = (c[b])[p + T - P]\noutput y[0:B, 0:P]",
}
APART = {
    "a tensor at several distances": "y[b, t] = 2.0 * x[t = t-1] - x + x[t = t+1] "
    "when t >= 1 and t + 1 < T\noutput y[0:B, 1:T-1]",
    "distances along two dimensions": "y[b, t] = x[b-1, t] + x[b, t-1] * x[b-1, t-1] "
    "when b >= 1 and t >= 1\noutput y[1:B, 1:T]",
    "the whole and the point": "y[b, t] = x * x[t = t-1] - sum(x[t = 0:T]) when t >= 1\n"
    "output y[0:B, 1:T]",
    "what a loop makes": "u[0, t] = x[b = 0]\n"
    "u[b, t] = u[b-1, t] + u[b-1, t-1] - 0.5 * u[b-1, t+1] "
    "when t >= 1 and t + 1 < T\nu[b, t] = x\noutput u[B-1, 0:T]",
}
TABLE = """dim b < B
dim n < N
dim m < M = N
input x[b, n]: f32[2]
z[b, n, m] = tanh(x[b, n] * x[b, m])
"""
COLUMNS = {
    "a column": "y[b, n] = max(z[b, 0:N, n], axis = 0)\noutput y",
    "a row and a column": "y[b, n] = max(z[b, n, 0:M], axis = 0) * sum(z[b, 0:N, n], axis = 0)\n"
    "output y",
    "a part of a column": "y[b, n] = sum(z[b, 1:N, n] + x[b, 1:N] * x, axis = 0)\noutput y",
    "all but the first": "y[b, n] = sum(z[b, 0:N, n], axis = 0) when n >= 1\ny[b, 0] = x[n = 0]\n"
    "output y",
    "a part of which no point has an index": "y[n, m] = sum(x[0:B, n] * x[0:B, m], axis = 0)\n"
    "output y",
}
GATHERED = {
    "backwards": "y[b, t] = tanh((c[b])[T-1-t])\noutput y",
    "two positions": "s[b] = c @ c.T\ny[b, t] = (s[b])[t, t]\noutput y",
}


def kernels(text: str) -> str:
    options = Options(level=2, passes=PASSES, verify_each=True)
    return Compilation(load_source(Source("m.rt", text)), options).emitted.kernels


@pytest.mark.parametrize("name", [*MAPPED, *GATHERED])
def test_elements_at_the_point(name: str) -> None:
    text = HEAD + (MAPPED | GATHERED)[name]
    assert ("dynamic_index" in kernels(text)) == (name in GATHERED)
    agree(text, *all_equal(text, 2, 5), passes=PASSES)
    agree(text, *all_equal(text, 3), special=True, passes=PLAIN)


@pytest.mark.parametrize("name", APART)
def test_reads_at_distances_are_slices(name: str) -> None:
    text = HEAD.replace("assume T >= 2", "assume T >= 3\nassume B >= 2") + APART[name]
    inside = [line for line in kernels(text).splitlines() if line.startswith(" " * 8)]
    assert inside and not any(re.search(r"\[.*\b[bt]\b", line) for line in inside)
    agree(text, {"B": 2, "T": 3}, {"B": 5, "T": 8}, passes=PASSES)


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_at_the_point(name: str) -> None:
    """One dimension is read at the point's index of another, which is read in a range."""
    text = TABLE + COLUMNS[name]
    inside = [line for line in kernels(text).splitlines() if line.startswith(" " * 8)]
    assert inside and not any(re.search(r"\[.*\bn\b", line) for line in inside)
    agree(text, *({"B": 2, "N": n} for n in (1, 2, 5)), passes=PASSES)
    agree(text, {"B": 1, "N": 3}, special=True, passes=PLAIN)


def test_a_name_for_the_array_and_one_for_its_element() -> None:
    text = kernels(HEAD + MAPPED["the first axis"])
    assert "def point(c_t):" in text
    assert "(c)" in text


TWICE = """
dim t < T
input j[t]: i32
input x: f32[9]
input y: f32[9, 2]
input p: bool
z = x[j] + y[j][0] + cond(p, exp(x[j]), x[j - 1])
output z
"""


def test_a_position_is_checked_once_in_a_kernel() -> None:
    """A branch that runs alone checks what nothing outside of it does."""
    kernels = Compilation(load_source(Source("m.rt", TWICE)), Options()).emitted.kernels
    assert kernels.count("wrong_value(") == 1 + 2
    inside = TWICE.replace("input j[t]", "input k[t]").replace("z =", "j = k % 9\nz =")
    agree(inside, {"T": 1}, {"T": 3})


TILES = """
dim k < K
dim r < R
dim t < N
assume N <= 3 * K
assume %s
input x[k, r]: f32[2]
y[t] = tanh(x[t // 3, t %% 3]) + x[t // 3, 0]
z[t] = x[(t+1) // 3, (t+1) %% 3] * y when t + 1 < N
output y, z[0:N-1]
"""
TILED = {
    "whole tiles": ("R == 3", 2, {"R": 3, "N": 5}),
    "one tile of few rows": ("R <= 3\nassume N <= R", 2, {"R": 2, "N": 2}),
    "tiles of which a part is read": ("R >= 3", 0, {"R": 4, "N": 5}),
    "more rows in a tile than are read in all": ("R == 5\nassume N <= R", 0, {"R": 5, "N": 5}),
}


@pytest.mark.parametrize("name", TILED)
def test_rows_of_tiles_are_mapped_as_one_axis(name: str) -> None:
    assumed, mapped, bounds = TILED[name]
    text = TILES % assumed
    emitted = Compilation(load_source(Source("m.rt", text)), Options()).emitted.kernels
    assert len(re.findall(r"lax.collapse\(x\w*, 0, 2\)", emitted)) == mapped
    assert ("x[t//3, t%3]" in emitted) == (mapped == 0)
    agree(text, {"K": 2, **bounds})
