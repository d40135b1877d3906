"""What a terminal shows: the lines of a pipe with colours, nothing else."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from types import SimpleNamespace

import pytest

from tempoc.cli.reports import copies
from tempoc.cli.reports.terminal import (
    activity_text,
    diagnostic_line,
    draw,
    draw_diagnostics,
    draw_python,
    time_text,
    waiting,
)
from tempoc.diagnostics.diagnostic import Diagnostic, Label
from tempoc.diagnostics.render import render
from tempoc.diagnostics.source import Source, Span
from tempoc.driver.progress import Activity, Progress
from tempoc.driver.report.copies import copies_text
from tempoc.runtime.report.streams import is_terminal
from tests.support.session.long import sampled

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
    monkeypatch.setattr(copies, "audit", lambda directory, bounds, paths: ())
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    copies.echo_copies(
        SimpleNamespace(write=lambda directory, durable: None), ("T=4",), (), after=True
    )
    text = screen.getvalue()
    assert "\x1b" in text and ESCAPE.sub("", text) == "\n" + copies_text(())


def test_pipes_and_those_who_want_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_terminal(Screen()) and not is_terminal(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(Screen())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_terminal(Screen())


def test_phases_are_named_while_somebody_waits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress()
    with waiting("compiling m.rt", progress):
        progress.phase("passes")
    assert capsys.readouterr().err == ""
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    with waiting("compiling m.rt", progress):
        progress.phase("passes")
    shown = screen.getvalue()
    progress.phase("schedule")
    assert "compiling m.rt" in shown and screen.getvalue() == shown


@pytest.mark.parametrize(
    ("activity", "text"),
    [
        (Activity(), "compiling"),
        (Activity(phase="schedule", number=4), "compiling: schedule (4 of 7)"),
        (Activity(phase="verify memory", number=5), "compiling: verify memory"),
        (
            Activity(phase="passes", number=2, detail="fuse, 3 of 16"),
            "compiling: passes (2 of 7): fuse, 3 of 16",
        ),
        (
            Activity(phase="codegen", number=6, most_left=3),
            "compiling: candidate 1 of at most 3: codegen (6 of 7)",
        ),
        (
            Activity(phase="codegen", number=6, tried=4, most_left=3, seconds_left=61.2),
            "compiling: candidate 5 of at most 7, at most about 62 s left: codegen (6 of 7)",
        ),
    ],
)
def test_what_is_going_on(activity: Activity, text: str) -> None:
    assert activity_text("compiling", activity) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (99, "99 s"), (101, "2 min"), (5400, "90 min"), (7500, "2 h 5 min")],
)
def test_times(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


@pytest.mark.parametrize("columns", sampled([80, 120], "a line that fits", of=2))
def test_a_real_terminal(tmp_path: Path, columns: int) -> None:
    """Phases on one line, nothing left of them; with `NO_COLOR` or in a pipe nothing at all."""
    (tmp_path / "m.rt").write_text("dim t < T\ninput x[t]: f32\ny[t] = x[t] * 2.0\noutput y\n")
    line = f"compiling {tmp_path / 'm.rt'}"
    for variables, expected in (({}, True), ({"NO_COLOR": "1"}, False)):
        shown = in_terminal(
            ["compile", f"{tmp_path}/m.rt", "-o", f"{tmp_path}/out"], columns, variables
        )
        assert (line[: columns - 5] in shown) == expected
        assert all(
            len(row) <= columns for row in ESCAPE.sub("", shown).replace("\r", "\n").split("\n")
        )
        if not expected:
            assert shown == ""


def in_terminal(arguments: list[str], columns: int, variables: dict[str, str]) -> str:
    """What `tempoc` writes on a terminal of that width."""
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tempoc", *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment | {"TERM": "xterm-256color"} | variables,
    )
    os.close(terminal)
    written = b""
    while True:
        try:
            part = os.read(reader, 4096)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        written += part
    os.close(reader)
    assert process.wait() == 0
    return written.decode()
