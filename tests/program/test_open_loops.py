"""Of which loops it is known before a run how many steps they have."""

from __future__ import annotations

from dataclasses import replace

from tempoc.program.analysis.open_loops import is_open, known_bounds
from tempoc.program.analysis.traversal import regions
from tempoc.symbolic import expr as ix
from tests.support.agreement import compile_text

UNTIL = """
dim t < T until done
input x: f32
a[0] = x
a[t+1] = sin(a[t]) * 2.0
done = a > 0.9
output a[T-1] as a
"""


def test_a_bound_that_the_run_finds_out_is_not_known() -> None:
    program = compile_text(UNTIL, 2, "canonicalize,fuse")[1].program
    (loop,) = [r.loop for r in regions(program.tree)]
    unbounded = replace(loop, lower=ix.ZERO, upper=ix.Sym("T"), limit=None)
    assert is_open(unbounded, known_bounds(program))
    assert not is_open(unbounded, frozenset({"T"}))
