"""Generated programs: compiled and optimized, they still mean what the reference evaluator says."""

from __future__ import annotations

from hypothesis import given, note, strategies as st

from tests.support.agreement import BOTH, agree, free_bounds
from tests.support.generators.mixes import endings, mixes
from tests.support.generators.programs import Program, programs
from tests.support.generators.settings import generated

SIZES = ((1, 1, 1), (5, 4, 3))
SMALL = ((1, 1, 1), (4, 3, 2))


@given(program=programs(), special=st.booleans())
@generated(2, long=6)
def test_generated_programs_agree(program: Program, special: bool) -> None:
    note(program.text)
    free = free_bounds(program.text)
    sizes = (dict(zip(free, size, strict=False)) for size in SIZES)
    agree(program.text, *sizes, special=special, levels=BOTH)


@given(program=mixes())
@generated(1, long=2)
def test_mixtures_agree(program: Program) -> None:
    """Gradients, branching, windows, chance and chosen points in one program."""
    agree_at_small_sizes(program)


@given(program=endings())
@generated(1, long=2)
def test_mixtures_that_end_agree(program: Program) -> None:
    """The same with a dimension whose length the data decide."""
    agree_at_small_sizes(program)


def agree_at_small_sizes(program: Program) -> None:
    note(program.text)
    free = free_bounds(program.text)
    sizes = (dict(zip(free, size, strict=False)) for size in SMALL)
    agree(program.text, *sizes, levels=BOTH)
