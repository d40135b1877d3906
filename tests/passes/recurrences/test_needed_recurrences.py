"""Recurrences within steps are differentiated at the points that are needed alone."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.recurrence import Recurrence
from tempoc.passes.recurrences.needed_recurrences import with_needed_recurrences
from tempoc.sdg.text.text import show
from tests.support.agreement import agree

SWEEPS = """
dim t < T
dim i < N
input c[i]: f32
input start[i]: f32
u[0, i] = start
x[t, 0] = u[t, 0]
x[t, i] = c * x[t, i-1] + sin(u)
u[t+1, i] = x[t, i]
misfit = sum(u[T-1, 0:N] ** 2)
slope = grad(misfit, c)
output misfit, slope
"""


def compiled(text: str) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), Options())


def test_derivatives_of_sweeps_are_scans_as_well() -> None:
    """At the last step, where none makes a next state, they would have equations of their own."""
    graph = compiled(SWEEPS).optimized
    scans = [n.name for n in graph.nodes.values() if isinstance(n.op, Recurrence)]
    assert len(scans) == 2
    agree(SWEEPS, {"T": 1, "N": 1}, {"T": 1, "N": 3}, {"T": 2, "N": 2}, {"T": 5, "N": 4})


def test_no_case_for_bounds_with_which_nothing_is_read() -> None:
    """The sum over the readers of `c` is 0 where there is one step."""
    assert "T == 1" not in show(compiled(SWEEPS).optimized)


def test_steps_that_a_loss_at_the_first_one_does_not_need() -> None:
    """What makes the states after it is not computed, and reads no points that are gone."""
    text = SWEEPS.replace("sum(u[T-1, 0:N] ** 2)", "sum(x[0, 0:N] ** 2)")
    compilation = compiled(text)
    needed = with_needed_recurrences(compilation.elaborated.written, compilation.space)
    assert "x" in needed.nodes and "u.1" not in needed.nodes
    agree(text, {"T": 1, "N": 1}, {"T": 3, "N": 2})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SWEEPS.replace("output misfit", "output x, misfit"), id="all are needed"),
        pytest.param(SWEEPS.replace("c * x[t, i-1]", "stop_gradient(x[t, i-1])"), id="no slope"),
    ],
)
def test_other_programs_stay_as_they_are(text: str) -> None:
    compilation = compiled(text)
    written, space = compilation.elaborated.written, compilation.space
    assert with_needed_recurrences(written, space) is written
