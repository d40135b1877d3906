"""What random examples depend on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given as drawn, settings, strategies

from tests.support.session.draws import providers

NUMBER = 73_939_133


@settings(max_examples=1)
@drawn(strategies.integers())
def test_no_module_is_read_for_its_constants(number: int) -> None:
    assert not getattr(providers, "_seen_modules", None)


def test_examples_are_the_same_whatever_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples: list[list[int]] = []

    @settings(derandomize=True, database=None, max_examples=100)
    @drawn(strategies.integers())
    def collect(number: int) -> None:
        examples[-1].append(number)

    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(f"NUMBERS = {[*range(NUMBER, NUMBER + 50)]}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        __import__(name)
        examples.append([])
        collect()
        monkeypatch.delitem(sys.modules, name)
    assert examples[0] == examples[1]
    assert not {*examples[0]} & {*range(NUMBER, NUMBER + 50)}
