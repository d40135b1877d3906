"""`--limit`, and the page about limits."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tempoc.base.limits import LIMITS, TABLE, Limits, flag_name
from tempoc.base.resources import manual_page
from tests.cli.session import Session
from tests.scaling.programs import FAMILIES


def test_the_flag_raises_a_limit(tempoc: Session) -> None:

    Path("many.rt").write_text(FAMILIES["unrolled"](50), encoding="utf-8")
    assert tempoc("check many.rt --limit calls=20") == 1
    assert "the limit `calls` is reached: more than 20 " in tempoc.err
    assert tempoc("check many.rt --limit calls=200 --limit leaves=5") == 0
    Path("long.rt").write_text("const N = range(5000)[7]\nx = 1.0 * N\noutput x\n")
    assert tempoc("check long.rt") == 1 and "--limit range-length=5000" in tempoc.err
    assert tempoc("check long.rt --limit range-length=5000") == 0


@pytest.mark.parametrize(
    "value",
    [
        "calls",
        "calls=",
        "calls=x",
        "calls=-1",
        "isl-steps=0",
        "call-depth=1001",
        "cals=3",
        "calls=1.5",
    ],
)
def test_wrong_limits_are_wrong_command_lines(value: str, tempoc: Session) -> None:
    assert tempoc(["check", "sums.rt", "--limit", value]) == 2


def test_the_manual_has_the_table() -> None:
    """The page states every limit, with its default, as `base/limits.py` does."""
    rows = [
        f"| `{flag_name(f.name)}` | {LIMITS[f.name]:,} | {row.counts} | {row.guards} | {row.cost} |"
        for f in fields(Limits)
        for row in [TABLE[f.name]]
    ]
    page = [line for line in manual_page("limits").splitlines() if line.startswith("| `")]
    assert page == rows
