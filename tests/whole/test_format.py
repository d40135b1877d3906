"""Programs that come with tempoc are in the canonical form that `tempoc fmt` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tempoc.diagnostics.source import Source
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax.parse import parse
from tests.support.examples import ROOT

PROGRAMS = sorted([*(ROOT / "examples").rglob("*.rt"), *(ROOT / "stdlib").glob("*.rt")])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_is_canonical(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_module(parse(Source(path=path.name, text=text))) == text
