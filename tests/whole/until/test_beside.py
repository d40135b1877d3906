"""Tables and recurrences beside a loop that the data end: they are computed as they are without."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.recurrence import Recurrence
from tempoc.sdg.statements.build import is_computed
from tests.support.agreement import agree

TABLE = """dim i < I
dim j < J
dim s < S = I + J until stop
input a[i]: i32
input b[j]: i32
d[0, j] = 1.0 * j
d[i, 0] = 1.0 * i
d[i, j] = minimum(d[i-1, j-1] + where(a == b, 0.0, 1.0), minimum(d[i-1, j], d[i, j-1]) + 1.0)
D = d[0:I, 0:J]
y[0] = I - 1
y[s+1] = maximum(y - where(D[y][0] > 1.5, 2, 1), 0)
stop = y == 0
rows = sum(y[s = 0:S])
output D, rows
"""
FILTER = """dim i < N
dim s < S until done
input x[i]: f32
f[0] = x[0]
f[i] = 0.9 * f[i-1] + 0.1 * x[i]
g[0] = 0.0
g[i] = 0.5 * g[i-1] + f[i]
r[0] = 1.0
r[s+1] = n
n = 0.5 * r + 0.25 * abs(sum(g[0:N]))
done = n - r > -0.1
e[0] = 0.0
e[s+1] = 0.5 * e + n
last = e[S-1]
output last, g
"""

WITHIN = """dim s < S until enough
dim p < P
dim t < T
input x[s, p, t]: f32
param w = 0.3
cost = w * abs(x)
r[s, p, t] = w - cost when t == 0
r[s, p, t] = tanh(r[s, p, t-1] + w - cost) - cost
low = sum(r[s, p, 0:T])
so_far[s] = sum(low[s, 0:P]) when s == 0
so_far[s] = so_far[s-1] + sum(low[s, 0:P])
enough = so_far < -1.5
g = grad(mean(low[0:S, 0:P]), w)
output g, so_far[S-1] as last
"""


def test_a_table_goes_by_diagonals() -> None:
    compilation = Compilation(load_source(Source("m.rt", TABLE)), Options())
    assert "diagonal" in [d.name for d in compilation.optimized.universe.dims]
    agree(TABLE, {"I": 1, "J": 1}, {"I": 2, "J": 1}, {"I": 3, "J": 5})


def test_recurrences_are_scans_but_for_those_of_its_steps() -> None:
    compilation = Compilation(load_source(Source("m.rt", FILTER)), Options())
    ops = [n.op for n in compilation.optimized.nodes.values()]
    assert [len(op.carried) for op in ops if isinstance(op, Recurrence)] == [2]
    agree(FILTER, {"N": 1, "S": 4}, {"N": 2, "S": 3}, {"N": 5, "S": 9})


def test_recurrences_of_each_of_its_steps_are_scans() -> None:
    compilation = Compilation(load_source(Source("m.rt", WITHIN)), Options())
    ops = [n.op for n in compilation.optimized.nodes.values()]
    assert any(isinstance(op, Recurrence) for op in ops)
    agree(WITHIN, {"S": 1, "T": 1, "P": 1}, {"S": 4, "T": 3, "P": 2}, {"S": 6, "T": 5, "P": 1})


CHECKERED = """dim k < K until done
dim y < H
dim x < W
input f[y, x]: f32
u[0, y, x] = f
{red}
red[k, y, x] = u
{black}
blk[k, y, x] = red
u[k+1, y, x] = blk
change = max(abs(blk - u)[y = 0:H, x = 0:W])
done[k] = change < 0.05
output change[K-1] as change, blk[K-1, y, x] as u
"""
INNER = "y > 0 and y < H-1 and x > 0 and x < W-1"
CHECKERED = CHECKERED.format(
    red="red[k, y, x] = 0.2 * (u[k, y-1, x] + u[k, y+1, x] + u[k, y, x-1] + u[k, y, x+1]) + f"
    f" when {INNER} and (y + x) % 2 == 0",
    black="blk[k, y, x] = 0.2 * (red[k, y-1, x] + red[k, y+1, x] + red[k, y, x-1] + red[k, y, x+1])"
    f" when {INNER} and (y + x) % 2 == 1",
)
FADING = """dim k < K until enough
dim m < M
dim j < M
input x[k, m]: f32
a[k, m, j] = x[k, m] when j == m
a[k, m, j] = a[k, m-1, j] * 0.5 + a[k, m-1, m-1-j] {term} when j < m
s = sum(a[k, M-1, 0:M])
enough[k] = abs(s) > 1.0
output s[K-1] as s, a[K-1, M-1, 0:M] as a
"""


def loops_along(text: str, dims: set[str]) -> set[str]:
    """The nodes that are computed one after the other along some dimensions."""
    nodes = Compilation(load_source(Source("m.rt", text)), Options()).optimized.nodes.values()
    return {n.name for n in nodes if is_computed(n) and dims & {*n.domain.dims} - {*n.vector}}


def test_branches_that_take_turns_are_selected_in_each_of_its_steps() -> None:
    assert not loops_along(CHECKERED, {"x", "y"})
    agree(CHECKERED, {"K": 2, "H": 1, "W": 3}, {"K": 9, "H": 5, "W": 4}, {"K": 4, "H": 6, "W": 7})
    agree(CHECKERED, {"K": 1, "H": 2, "W": 1}, {"K": 2, "H": 3, "W": 3})


@pytest.mark.parametrize("term", ["", "* (k + 1)"])
def test_rows_of_tables_are_whole_in_each_of_its_steps(term: str) -> None:
    text = FADING.format(term=term)
    assert not loops_along(text, {"j"})
    agree(text, {"K": 1, "M": 1}, {"K": 3, "M": 2}, {"K": 6, "M": 5})


@pytest.mark.parametrize("term", ["* (K - k)", "* where(k < K - 1, 2.0, 1.0)"])
def test_rows_of_tables_that_wait_for_the_length(term: str) -> None:
    """The steps are what ends the dimension, the tables come after all of them."""
    text = FADING.format(term=term).replace("abs(s) > 1.0", "x[k, 0] > 1.0")
    agree(text, {"K": 1, "M": 1}, {"K": 6, "M": 5})


MASKED = """dim k < K until enough
dim i < N
dim j < N
input x[i]: f32
input z[k, i]: f32
a[i, j] = x + 2.0 when i == j
a[i, j] = exp(0.1 * (j - i)) when j < i {and_length}
a[i, j] = 0.5
m[k, i, j] = z * a when j <= i
m[k, i, j] = {other}
r[k] = sum(sum(m[k, 0:N, 0:N]))
so_far[0] = 0.0
so_far[k+1] = so_far + abs(r)
enough = so_far + abs(r) > 2.0
output r[K-1] as r, m[K-1, 0:N, 0:N] as m
"""


def test_conditions_on_other_dimensions_are_selections() -> None:
    text = MASKED.format(and_length="", other="z[k, j]")
    assert not loops_along(text, {"i", "j"})
    agree(text, {"K": 1, "N": 1}, {"K": 4, "N": 2}, {"K": 7, "N": 4})


@pytest.mark.parametrize(
    ("and_length", "other"), [("and i < K", "z"), ("", "where(k < K - 1, z, 0.0)")]
)
def test_conditions_on_the_length_wait_for_it(and_length: str, other: str) -> None:
    text = MASKED.format(and_length=and_length, other=other)
    text = text.replace("enough = so_far + abs(r)", "enough = z[k, 0]")
    agree(text, {"K": 1, "N": 1}, {"K": 7, "N": 4})
