"""A slice of what `make fuzz-text` does; what it has found; its tools."""

from __future__ import annotations

import random

import pytest

from tests.fuzz import texts
from tests.fuzz.texts import SEEDS, comments, failures, mutant, pieces_of, problem, reduced


def test_mutants_are_formatted_once_and_for_all() -> None:
    programs = [path.read_text(encoding="utf-8") for path in SEEDS]
    assert [*failures(300, 1, programs)] == []


@pytest.mark.parametrize(
    "text",
    [
        "def half()={w:#;\nv}\ndef pick()=q\ndef state(){m=q;return m}",
        "def value()=# note\nsqueeze",
        "def f(x) { # a\n return x # b\n}; y = 1 # c\n",
        "for_ = 1;;# a\n;y = 2\r\n# b\r\n",
    ],
)
def test_what_was_wrong_once(text: str) -> None:
    assert problem(text) is None


def test_pieces_make_up_the_text() -> None:
    for path in SEEDS[:20]:
        text = path.read_text(encoding="utf-8")
        assert "".join(pieces_of(text)) == text


def test_mutants_are_the_same_again() -> None:
    text = SEEDS[0].read_text(encoding="utf-8")
    assert mutant(text, random.Random(3)) == mutant(text, random.Random(3))


def test_a_formatter_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "y = 1 + x # a\nz = 2\n"
    assert problem(text) is None and comments(text) == ["# a"]
    right = texts.format_module
    for wrong in (
        lambda *a: right(*a).replace("1 + x", "1 - x"),
        lambda *a: right(*a).replace("  # a", ""),
        lambda *a: right(*a).replace("\n", "\n\n"),
        lambda *a: right(*a).replace("=", "=="),
        lambda *a: 1 / 0,
    ):
        monkeypatch.setattr(texts, "format_module", wrong)
        assert problem(text) is not None
    monkeypatch.setattr(texts, "format_module", lambda *a: right(*a).replace("1 + x", "1 - x"))
    assert reduced(text, lambda t: problem(t) is not None).replace(" ", "") == "y=1+x"
