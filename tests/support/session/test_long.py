"""What `make test` leaves to the long run, and what it keeps of each family."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.session import long as marks


@pytest.fixture(autouse=True)
def not_the_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(marks.chosen, "long", False)


def kept(parameters: list[Any]) -> list[Any]:
    """The values of those without a mark."""
    plain = [p if hasattr(p, "marks") else pytest.param(p) for p in parameters]
    return [p.values if len(p.values) > 1 else p.values[0] for p in plain if not p.marks]


def test_each_case_is_tried_in_one_way_and_each_way_on_a_case() -> None:
    pairs = marks.in_turns("abcd", (0, 2), "both levels")
    assert len(pairs) == 8 and kept(pairs) == [("a", 0), ("b", 2), ("c", 0), ("d", 2)]


def test_some_cases_are_kept() -> None:
    assert kept(marks.sampled(range(7), "more", of=3)) == [0, 3, 6]
    assert kept(marks.sampled("abc", "others", keep="b".__contains__)) == ["b"]
    assert kept([marks.long(("a", 1), "why"), ("b", 2)]) == [("b", 2)]


def test_each_kind_has_some_cases() -> None:
    few, rest = marks.spread(range(120), lambda n: n >= 100)
    assert few[:3] == [0, 8, 16] and len([n for n in few if n >= 100]) == 6
    assert sorted(few + rest) == [*range(120)]


def test_a_test_that_is_named_runs() -> None:
    assert marks._is_named("tests/a.py::test_b[1-x]", ["/here/tests/a.py::test_b"])
    assert marks._is_named("tests/a.py::test_b[1-x]", ["tests/a.py::test_b[1-x]"])
    assert not marks._is_named("tests/a.py::test_b[1-x]", ["tests/a.py::test_b[2]", "tests/a.py"])


def test_what_is_tried_less(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"y = {n}" for n in range(300)]
    assert 70 < sum(marks.in_share(text, 3) for text in texts) < 130
    assert marks.ends([1, 2, 5]) == (1, 5) and marks.examples(2, long=9) == 2
    monkeypatch.setitem(marks.chosen, "long", True)
    assert all(marks.in_share(text, 3) for text in texts)
    assert marks.ends([1, 2, 5]) == [1, 2, 5] and marks.examples(2, long=9) == 9
