"""Recurrences whose first step is a part of the others become scans, with the same values."""

from __future__ import annotations

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.recurrence import Recurrence
from tests.support.agreement import agree

TEXT = """
dim t < T
dim b < B
input x[t, b]: f32[2]
input w: f32[2, 2]
v[0, b] = zeros([2])
z[t, b] = tanh(v - 1.0)
v[t+1, b] = 0.9 * v * (1.0 - stop_gradient(z)) + w @ z + x
total = mean(sum(z * z)[t = 0:T, b = 0:B])
dw = grad(total, w)
dx = grad(total, x)
output dw, dx
"""


def test_a_derivative_that_begins_with_a_part_of_a_step_is_a_scan() -> None:
    graph = Compilation(load_source(Source("m.rt", TEXT)), Options()).optimized
    assert sum(isinstance(n.op, Recurrence) for n in graph.nodes.values()) == 2
    agree(TEXT, {"T": 1, "B": 2}, {"T": 4, "B": 1})


def test_a_step_may_read_what_stands_along_another_dimension() -> None:
    agree(
        """dim t < T
dim p < P
assume P <= T
input x[t]: f32
m[0] = x[0]
m[t] = tanh(m[t-1]) + x
d[0] = x[0]
d[p] = 0.5 * v[p-1]
step[p] = d[p] * m[t = p]
v[0] = step[0]
v[p] = step[p] + 0.3 * v[p-1]
output v
""",
        {"T": 1, "P": 1},
        {"T": 4, "P": 3},
    )
