"""Equations, functions and builtins against NumPy: evaluated, compiled plainly, and optimized."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.whole.equations import builtin_cases, function_cases, linear_cases, recurrence_cases
from tests.whole.language.harness import Case, check

ALL = [*recurrence_cases.CASES, *function_cases.CASES, *builtin_cases.CASES, *linear_cases.CASES]


@pytest.mark.parametrize(("turn", "case"), [*enumerate(ALL)], ids=[case.name for case in ALL])
def test_program(turn: int, case: Case, tmp_path: Path) -> None:
    check(case, tmp_path, turn)
