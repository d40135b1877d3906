"""Small programs, each about one sentence of the language, against NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.whole.language import (
    access_cases,
    bound_cases,
    byte_cases,
    corner_cases,
    output_cases,
    type_cases,
)
from tests.whole.language.harness import Case, check

TABLES = (access_cases, bound_cases, byte_cases, corner_cases, output_cases, type_cases)
ALL = [case for table in TABLES for case in table.CASES]


@pytest.mark.parametrize(("turn", "case"), [*enumerate(ALL)], ids=[case.name for case in ALL])
def test_program(turn: int, case: Case, tmp_path: Path) -> None:
    check(case, tmp_path, turn)
