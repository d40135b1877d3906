"""What is wider than a terminal: folded tables, and source lines cut around what is marked."""

from __future__ import annotations

from tempoc.cli.reports.narrow import cells, excerpt, fold
from tempoc.cli.reports.terminal import fitted
from tempoc.runtime.report.table import table

HEAD = ("kernel", "FLOPs", "when")
ROWS = (("a.b", "19*B*T^2 + 57*B*T - 19*B", "T >= 3"), ("c", "7", ""))


def test_a_table_gives_its_cells_back() -> None:
    assert cells(table(HEAD, ROWS).splitlines()) == [[*HEAD], *([*row] for row in ROWS)]


def test_what_is_no_table() -> None:
    assert cells(["%a  add  [t]", "%b  mul  [t]"]) is None, "a graph"
    assert cells(["total  128*T bytes", "peak   96*T bytes"]) is None, "two columns"
    assert cells(["a  b  c", "a sentence below"]) is None


def test_wide_cells_are_folded() -> None:
    rows = [HEAD, *ROWS]
    assert fold(rows, 29) == [
        "kernel  FLOPs          when",
        "a.b     19*B*T^2       T >= 3",
        "        + 57*B*T",
        "        - 19*B",
        "c       7",
    ]
    assert fold(rows, 80) == table(HEAD, ROWS).splitlines()


def test_words_stay_whole() -> None:
    assert fold([("a", "b", "c"), ("x" * 9, "y", "z")], 4)[1] == "xxxxxxxxx  y  z"


def test_only_tables_that_are_too_wide_change() -> None:
    text = "# cost\n" + table(HEAD, ROWS) + "\ntotal  12\n"
    assert [*fitted(text, 80)] == text.splitlines()
    narrow = [*fitted(text, 29)]
    assert narrow[0] == "# cost" and narrow[-1] == "total  12"
    assert max(map(len, narrow)) <= 29
    assert sorted(" ".join(narrow).split()) == sorted(text.split())


def test_marked_source_stays_in_sight() -> None:
    source, marks = " y = " + "x + " * 30 + "wrong", " " * 125 + "^^^^^ this"
    above, below = excerpt(source, marks, 60)
    assert max(len(above), len(below)) <= 60
    assert above[below.index("^") :] == "wrong" and above.startswith(" …")
    assert below.endswith("^^^^^ this")
    assert excerpt(source, marks, 200) == (source, marks)


def test_a_mark_at_the_start_needs_no_shift() -> None:
    above, below = excerpt(" wrong" + " + x" * 30, " ^^^^^", 40)
    assert above == (" wrong" + " + x" * 30)[:39] + "…" and below == " ^^^^^"
