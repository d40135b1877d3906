import json
import re

import pytest

from tempoc.cli.reports.diagnostics_json import render_json
from tempoc.diagnostics.diagnostic import Collector, Diagnostic, DiagnosticError, Label, RunError
from tempoc.diagnostics.render import colored, render, render_all
from tempoc.diagnostics.source import Source

SOURCE = Source("m.rt", "dim t < T\n\ty[t] = x[t-1]\nz = (y +\n  y)\n")
WRONG = Diagnostic(
    code="RT200",
    message="x[t-1] reads x at t = -1 when t = 0",
    primary=Label(SOURCE.span(18, 24), "here"),
    secondary=(Label(SOURCE.span(4, 5), "t starts at 0"),),
    notes=("a note\nof two lines",),
    help="restrict it",
)


def test_a_diagnostic_shows_its_places() -> None:
    assert render(WRONG) == (
        "error[RT200]: x[t-1] reads x at t = -1 when t = 0\n"
        " --> m.rt:2:9\n"
        "  |\n"
        "2 |     y[t] = x[t-1]\n"
        "  |            ^^^^^^ here\n"
        "1 | dim t < T\n"
        "  |     - t starts at 0\n"
        "note: a note\n"
        "      of two lines\n"
        "help: restrict it\n"
    )


def test_a_span_of_several_lines_is_underlined_to_the_end_of_its_first() -> None:
    text = render(Diagnostic(code="X", message="m", primary=Label(SOURCE.span(29, 38))))
    assert text.splitlines()[3:] == ["3 | z = (y +", "  |     ^^^^"]


def test_an_empty_span_at_the_end_gets_one_mark() -> None:
    end = len(SOURCE.text)
    text = render(Diagnostic(code="X", message="m", primary=Label(SOURCE.span(end, end))))
    assert text.splitlines()[-1] == "  | ^"


def test_marks_stand_below_wide_characters_and_accents() -> None:
    source = Source("m.rt", 'print "\u65e5\u672ce\u0301", z')
    for start, end, marks in ((14, 15, " " * 15 + "^"), (6, 11, " " * 6 + "^" * 6)):
        text = render(Diagnostic(code="X", message="m", primary=Label(source.span(start, end))))
        assert text.splitlines()[-1] == f"  | {marks}"


def test_without_a_place_only_the_sentence_is_left() -> None:
    assert render(Diagnostic(code="RT500", message="no")) == "error[RT500]: no\n"


def test_control_characters_do_not_reach_the_terminal() -> None:
    source = Source("m", "x = \x1b[31m")
    assert "\x1b" not in render(Diagnostic(code="X", message="m", primary=Label(source.whole())))


def test_colours_leave_every_character() -> None:
    text = render_all([WRONG, WRONG])
    assert colored(text).count("\x1b[1;31merror[RT200]\x1b[0m\x1b[1m: x[t-1] reads") == 2
    assert re.sub(r"\x1b\[[\d;]+m", "", colored(text)) == text


def test_there_is_a_blank_line_between_two() -> None:
    assert render_all([WRONG, WRONG]) == f"{render(WRONG)}\n{render(WRONG)}"


def test_json_holds_every_part() -> None:
    (data,) = json.loads(render_json([WRONG]))
    assert data["code"] == "RT200" and data["severity"] == "error"
    assert data["primary"]["line"] == 2 and data["primary"]["column"] == 9
    assert data["primary"]["end_column"] == 15
    assert data["secondary"][0]["text"] == "t starts at 0"
    assert data["notes"] == ["a note\nof two lines"] and data["help"] == "restrict it"


def test_a_collector_sorts_by_place_and_drops_what_it_knows() -> None:
    errors = Collector()
    early = Diagnostic(code="A", message="early", primary=Label(SOURCE.span(0, 1)))
    errors.extend([WRONG, early, WRONG])
    try:
        errors.raise_errors()
    except DiagnosticError as error:
        assert error.diagnostics == (early, WRONG)
    else:
        raise AssertionError("nothing was raised")


def test_a_collector_reports_a_code_once_for_each_place() -> None:
    errors = Collector()
    site = Label(SOURCE.span(0, 3), "in this call of `f`")
    errors.report(WRONG, [site])
    errors.report(Diagnostic(code="RT200", message="again", primary=WRONG.primary))
    errors.report(Diagnostic(code="RT201", message="other", primary=WRONG.primary))
    assert [d.code for d in errors.diagnostics] == ["RT200", "RT201"]
    assert errors.diagnostics[0].secondary == (*WRONG.secondary, site)


def test_a_collector_catches_what_ends_a_block() -> None:
    errors = Collector()
    with errors.catching():
        raise RunError(WRONG)
    with pytest.raises(RunError, match="RT200"):
        errors.raise_errors(RunError)
