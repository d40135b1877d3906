"""The golden fixture notices differences, blesses, and finds files nobody asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import golden

pytest_plugins = ["pytester"]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setattr(golden, "ROOT", pytester.path / "golden")
    tests = pytester.mkdir("tests")
    (tests / "test_it.py").write_text("def test_it(golden): golden('a/b.txt', 'one\\ntwo\\n')\n")
    return pytester


def run(suite: pytest.Pytester, *args: str) -> pytest.RunResult:
    return suite.runpytest_inprocess("-p", "tests.support.golden", "-p", "no:cacheprovider", *args)


def test_a_missing_file_fails_and_bless_writes_it(suite: pytest.Pytester) -> None:
    assert run(suite, "tests").ret == 1
    assert run(suite, "tests", "--bless").ret == 0
    assert (suite.path / "golden/a/b.txt").read_text() == "one\ntwo\n"
    assert run(suite, "tests").ret == 0


def test_a_difference_is_shown(suite: pytest.Pytester) -> None:
    run(suite, "tests", "--bless")
    (suite.path / "golden/a/b.txt").write_text("one\n")
    result = run(suite, "tests")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*golden/a/b.txt differs*", "*+two*"])


def test_a_file_nobody_asks_for_fails_the_whole_suite_only(suite: pytest.Pytester) -> None:
    run(suite, "tests", "--bless")
    stray = suite.path / "golden/stray.txt"
    stray.write_text("?")
    assert run(suite, "tests", "-k", "it").ret == 0
    result = run(suite, "tests")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*golden/stray.txt: no test asks for this file*"])
    assert run(suite, "tests", "--bless").ret == 0
    assert not stray.exists()


def test_orphans_are_sorted(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.txt"):
        (tmp_path / name).write_text("")
    assert golden.orphans(tmp_path, {"b.txt"}) == ["a.txt", "c.txt"]
