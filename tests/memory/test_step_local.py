"""Arrays of which no value outlasts a step of a device loop are made in each, and not carried."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.traversal import regions
from tests.support.agreement import agree

WITHIN = """dim i < I
dim t < T
input a: f32[4]
input w0: f32[4]
w[0] = w0
w[i+1] = sin(w + mean((o[i, 0:T] - mean(o[i, 0:T], axis = 0)) ** 2, axis = 0))
o[i, 0] = a
o[i, t] = tanh(w * o[i, t-1]) * f32(random.categorical(o[i, t-1])) when t >= 1
output w
"""
"""All of ``o`` is read in the step of ``i`` that writes it, point by point."""
CARRIED = WITHIN.replace("o[i, 0] = a", "o[0, 0] = a\no[i, 0] = o[i-1, T-1] when i >= 1")
"""A step begins with what the one before it ended with."""
PREVIOUS = WITHIN.replace("f32(", "f32(1 + ").replace(
    "when t >= 1", "+ o[i-1, t] when t >= 1 and i >= 1\no[0, t] = a when t >= 1"
)
"""A step reads what the one before it wrote, in place."""


def compiled(text: str) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), Options(level=2))


def test_what_one_step_writes_and_reads_is_not_carried() -> None:
    compilation = compiled(WITHIN)
    region = next(r for r in regions(compilation.emitted.program.tree) if r.loop.var == "i")
    assert compilation.plan.step_local["o"] == "i"
    assert "o" in region.local
    assert "o" not in {cells.store for cells in (*region.carried, *region.read)}
    agree(WITHIN, {"I": 1, "T": 1}, {"I": 3, "T": 2})


@pytest.mark.parametrize("text", [CARRIED, PREVIOUS], ids=["carried", "previous"])
def test_what_another_step_reads_is_carried(text: str) -> None:
    assert "o" not in compiled(text).plan.step_local
    agree(text, {"I": 1, "T": 2}, {"I": 3, "T": 3})
