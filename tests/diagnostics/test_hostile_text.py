"""No file and no text of a program steers the terminal that shows it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tempoc.cli.main import status
from tempoc.cli.reports import terminal
from tempoc.runtime.report.memory_plot import draw_svg
from tempoc.runtime.report.table import table

CLEAR, TURN = "\x1b[2J\x9b1m\r", "\u202e"
FILE = f"a{CLEAR}{TURN}[red]b[/.rt"


def visible(text: str) -> bool:
    return text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "text",
    [
        f"x = 1. # {CLEAR}{TURN}\ny = z # {CLEAR}\n",
        f'"""{CLEAR}{TURN}"""\nimport "{TURN}.rt" as a\n',
        f"x = {TURN}\n",
        f'param w: f32 from "{TURN}" = q\n',
    ],
)
@pytest.mark.parametrize("more", [[], ["--error-format=json"]])
def test_errors_show_escapes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    more: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(FILE.replace("/", "")).write_text(text)
    assert status(["check", FILE.replace("/", ""), *more]) == 1
    err = capsys.readouterr().err
    assert visible(err)
    if more:
        assert FILE.replace("/", "") in {d["primary"]["path"] for d in json.loads(err)}
    else:
        assert r"a\x1b[2J\x9b1m\r\u202e[red]b[" in err


@pytest.mark.parametrize("stage", ["sdg", "schedule", "memory", "program", "kernels", "passes"])
def test_reports_show_escapes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stage: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    name = FILE.replace("/", "")
    doc = f'"""{CLEAR}{TURN}"""\n'.replace("\r", "")
    Path(name).write_text(
        doc + f"dim t < T # {TURN}\ninput x[t]: f32\ny = x * 2. # {TURN}\noutput y\n"
    )
    assert status(["explain", name, f"--dump-{stage}"]) == 0
    assert visible(capsys.readouterr().out)


def test_a_terminal_gets_no_markup_and_no_escape_sequence_of_a_name() -> None:
    text = f"error[RT001]: {FILE}\n".replace("\r", "")
    stream = io.StringIO()
    terminal.draw_diagnostics(terminal.lines_printed(text), stream)
    assert stream.getvalue().replace("\n", "") == terminal.lines_printed(text).replace("\n", "")


def test_wrong_command_lines_show_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["run", "m.rt", "--bounds", CLEAR]) == 2
    assert status([CLEAR]) == 2
    assert visible(capsys.readouterr().err)


def test_tables_and_plots_show_escapes() -> None:
    assert visible(table(("a", CLEAR), [(TURN, "x\ny")]).replace("\n", ""))
    assert len(table(("a", "b"), [("x\ny", "c")]).splitlines()) == 2
    assert visible(draw_svg([], f"{FILE}\x00\udcff<&", 1))


def test_a_formatted_program_is_shown_as_it_is_in_a_pipe_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"x = 1.0  # {TURN}\n"
    terminal.as_it_is(text)
    assert capsys.readouterr().out == text
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    terminal.as_it_is(text)
    assert capsys.readouterr().out == "x = 1.0  # \\u202e\n"
