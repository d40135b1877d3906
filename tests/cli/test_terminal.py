"""What a terminal shows: the lines of a pipe with colours, nothing else."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest

from tempoc.cli.reports import copies
from tempoc.cli.reports.terminal import (
    diagnostic_line,
    draw,
    draw_diagnostics,
    draw_python,
    waiting,
)
from tempoc.diagnostics.diagnostic import Diagnostic, Label
from tempoc.diagnostics.render import render
from tempoc.diagnostics.source import Source, Span
from tempoc.driver.report.copies import copies_text
from tempoc.runtime.report.streams import is_terminal

TEXT = 'y[t] = x[t-1] when t >= 10  # "early"\n'
SOURCE = Source("m.rt", TEXT)
WRONG = Diagnostic(
    code="RT200",
    message="x[t-1] reads x at t = -1 when t = 0",
    primary=Label(Span(SOURCE, 7, 13), "this read"),
    notes=("a note that is rather long, so that it does not fit on a single line " * 2,),
    help="add an equation",
)
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen(io.StringIO):
    """A terminal of some width."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


def test_lines_keep_their_characters() -> None:
    for line in render(WRONG).splitlines():
        assert diagnostic_line(line).plain == line


def test_a_diagnostic() -> None:
    screen = Screen()
    draw_diagnostics(render(WRONG), screen)
    text = screen.getvalue()
    assert "\x1b[1;31merror[RT200]" in text and "\x1b[1;35mwhen\x1b[0m" in text
    plain = ESCAPE.sub("", text)
    assert max(map(len, plain.splitlines())) <= 80
    assert " ".join(plain.split()) == " ".join(render(WRONG).split())


@pytest.mark.parametrize("text", ["# memory\nx  ring  32*T\n", "%h = tanh %x : [t] f32\n"])
def test_reports_keep_their_lines(text: str) -> None:
    screen = Screen()
    draw(text, screen)
    assert "\x1b" in screen.getvalue() and ESCAPE.sub("", screen.getvalue()) == text


def test_only_statements_have_keywords() -> None:
    for text, count in (
        ("for t in reversed 0..T-1 on device:", 3),
        ("  if T >= 2:", 1),
        ("read  96 bytes*T  if T >= 2", 1),
        ("proved  for all bounds: no value is freed before its last read", 0),
        ("store  kind  type", 0),
        ("  store x: f32[8] axes t: T", 1),
    ):
        screen = Screen()
        draw(text, screen)
        assert screen.getvalue().count("\x1b[35m") == count, text


def test_kernels() -> None:
    screen = Screen()
    draw_python("def h(at, x):\n    return (x,)\n", screen)
    lines = [line.rstrip() for line in ESCAPE.sub("", screen.getvalue()).splitlines()]
    assert lines == ["def h(at, x):", "    return (x,)"]


def test_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "audit", lambda directory, bounds: ())
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    copies.echo_copies(SimpleNamespace(write=lambda directory, durable: None), ("T=4",), True)
    text = screen.getvalue()
    assert "\x1b" in text and ESCAPE.sub("", text) == "\n" + copies_text(())


def test_pipes_and_those_who_want_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_terminal(Screen()) and not is_terminal(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(Screen())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_terminal(Screen())


def test_stages_are_named_while_somebody_waits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with waiting("compiling m.rt") as stage:
        stage("passes")
    assert capsys.readouterr().err == ""
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    with waiting("compiling m.rt") as stage:
        stage("passes")
    assert "compiling m.rt" in screen.getvalue()
