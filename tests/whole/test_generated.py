"""Generated programs: compiled and optimized, they still mean what the reference evaluator says."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, note, reject, settings
from hypothesis import strategies as st

from tempoc.base.diagnostics import DiagnosticError
from tests.support.agreement import agree, free_bounds
from tests.support.mixes import endings, mixes
from tests.support.programs import Program, programs

SIZES = ((1, 1, 1), (5, 4, 3))
SMALL = ((1, 1, 1), (4, 3, 2))
COMMON = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.generate,),
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}

NO_DERIVATIVE = {"RT264", "RT266"}
"""What generated programs may be refused for."""

pytestmark = pytest.mark.slow


@given(program=programs(), special=st.booleans())
@settings(max_examples=12, **COMMON)
def test_generated_programs_agree(program: Program, special: bool) -> None:
    note(program.text)
    free = free_bounds(program.text)
    agree(program.text, *(dict(zip(free, size, strict=False)) for size in SIZES), special=special)


@given(program=mixes())
@settings(max_examples=5, **COMMON)
def test_mixtures_agree(program: Program) -> None:
    """Gradients, branching, windows, chance and chosen points in one program."""
    agree_if_differentiable(program)


@given(program=endings())
@settings(max_examples=3, **COMMON)
def test_mixtures_that_end_agree(program: Program) -> None:
    """The same with a dimension whose length the data decide."""
    agree_if_differentiable(program)


def agree_if_differentiable(program: Program) -> None:
    note(program.text)
    free = free_bounds(program.text)
    try:
        agree(program.text, *(dict(zip(free, size, strict=False)) for size in SMALL))
    except DiagnosticError as error:
        assert {d.code for d in error.diagnostics} <= NO_DERIVATIVE
        reject()
