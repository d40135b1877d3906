"""Which loops a GPU compiles for a number of steps; programs whose graphs held whole loops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tempoc.program.analysis.recorded_loops import (
    command_modes,
    counted_regions,
)
from tempoc.program.nodes.gpu_commands import COMMANDS, COMMON, NONE
from tests.support.agreement import compile_text

STEPS = "dim t < T\ninput x: f32\na[0] = x\na[t] = {} when t >= 1\noutput a[T-1] as a\n"
BRIEF = STEPS.format("sin(a[t-1])")
SOMETIMES = """
dim t < T
input x: f32
a[0] = x
a[t] = cos(a[t-1]) when t % 4 == 1
a[t] = sin(a[t-1]) when t >= 1
output a[T-1] as a
"""
UNTIL = """
dim t < T until done
input x: f32
a[0] = x
a[t+1] = sin(a[t]) * 2.0
done = a > 0.9
output a[T-1] as a
"""
INNER = """
dim t < T
dim k < K
input x: f32
{}
z[t, 0] = a[t]
z[t, k+1] = sin(z[t, k]){}
a[0] = x
a[t+1] = cos(z[t, K-1])
output a[T-1] as a
"""


@pytest.mark.parametrize(
    ("text", "is_counted"),
    [
        (BRIEF, True),
        (SOMETIMES, True),
        (UNTIL, False),
        (INNER.format("input w[k]: f32", " + w[k]"), False),
        (INNER.format("", ""), False),  # nothing has K as a size
    ],
)
def test_loops_of_a_gpu(text: str, is_counted: bool) -> None:
    program = compile_text(text, 2, "canonicalize,fuse")[1].program
    assert ("loop_t" in counted_regions(program)) == is_counted


def test_whole_loops_that_a_program_records_are_not_recorded() -> None:
    """Programs of the time when `--tune` could choose that: they would compute wrong numbers."""
    program = compile_text(BRIEF, 2, "canonicalize,fuse")[1].program
    for modes, mode in ({"": "loops"}, COMMON), ({"": "loops", ".loop_t": NONE}, NONE):
        tuned = [(COMMANDS + name, mode) for name, mode in modes.items()]
        chosen = command_modes(replace(program, provenance=(*program.provenance, *tuned)))
        assert chosen["loop_t"] == mode
