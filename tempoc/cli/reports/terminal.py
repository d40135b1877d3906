"""What a terminal shows: the same lines as a pipe gets, drawn by rich.

Plain text stays the truth: everything here takes finished plain text and gives it colours, the
right line breaks and, while somebody waits, the name of the stage that is running. rich takes 50 ms
to come, so it is imported late, and only where there is a terminal.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

import click

from tempoc.cli.reports import narrow
from tempoc.diagnostics.render import printed
from tempoc.driver.progress import PHASES, Activity, Progress
from tempoc.program.nodes.dtypes import ELEMENTS
from tempoc.runtime.report.streams import is_terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Looks = tuple[tuple[str, str], ...]
"""Patterns of parts of texts and how these look; what comes first wins.

Patterns are compiled where they are used (once, by `re`): most commands use none.
"""
KEYWORDS = (
    "dim|const|assume|import|input|param|extern|output|save|print|def|return|for|in|when|until|"
    "from|over|as|to|if|else|and|or|not|true|false"
)
SOURCE = (
    (r"#.*$", "dim italic"),
    (r'"[^"]*"', "green"),
    (rf"\b({KEYWORDS})\b", "bold magenta"),
    (rf"\b({'|'.join(ELEMENTS)})\b", "cyan"),
    (r"(?<![\w.])\d[\w.]*", "blue"),
)
"""Parts of `.rt` text."""
STAGES = (
    (r"^# .*$", "bold"),
    (r"^(function|kernel|output|store|tensor)  .*$", "bold"),
    (r"^(peak|total|budget|proved|largest \w+|read|written)(?=  )", "bold"),
    (r"^FLOPs(/byte)?(?=  )", "bold"),
    (r"^ *(for|if|while|group|block|region|kernel|store|output)\b(?! {2})", "magenta"),
    (r"(?<=  )if\b|\bin(?= (reversed )?\S+\.\.)|\bon device(?=:)", "magenta"),
    (r"%[\w.]+", "cyan"),
    (r"# \S+\.rt:.*$", "dim"),
)
"""Parts of dumps, schedules and reports."""
PAGE = (
    (r"^(=+|-+)$", "bold"),
    (r"^    \$ .*$", "bold"),
    (r"^    .*$", ""),
    (r"`[^`]+`", "cyan"),
)
"""Parts of the manual's pages."""
_MARKS_OF_TEXT = re.compile(r"([\n\t])")
_GUTTER = r"^(\s*\d* \|)(.*)$"
_MARKS = r"^\s*(\^+|-+)(?: .*)?$"
_HEAD = r"^(error)(\[\w+\])?(?=: )"
_TAIL = r"^(note|help)(?=: )"
_LOOK = {"error": "bold red", "note": "bold", "help": "bold cyan"}


def console(stream: TextIO) -> Console:
    """Where rich draws; it never guesses what numbers or paths in a text are."""
    from rich.console import Console

    return Console(file=stream, highlight=False, soft_wrap=False)


def draw_diagnostics(text: str, stream: TextIO) -> None:
    """Rendered diagnostics: the source highlighted, sentences broken between words."""
    screen = console(stream)
    lines = text.splitlines()
    for k, line in enumerate(lines):
        gutter = re.match(_GUTTER, line)
        if gutter and k and gutter[2] and re.match(_MARKS, gutter[2]):
            columns = screen.width - gutter.end(1)
            above, marks = narrow.excerpt(lines[k - 1][gutter.end(1) :], gutter[2], columns)
            lines[k - 1 : k + 1] = [lines[k - 1][: gutter.end(1)] + above, gutter[1] + marks]
    for line in lines:
        piece = diagnostic_line(line)
        whole = re.match(_GUTTER, line) is not None or " --> " in line
        screen.print(piece, no_wrap=whole, overflow="ellipsis" if whole else "fold")


def diagnostic_line(line: str) -> Text:
    """A line of a rendered diagnostic with colours."""
    from rich.text import Text

    text = Text(line)
    if head := re.match(_HEAD, line):
        text.stylize(_LOOK[head[1]], 0, head.end())
        text.stylize("bold", head.end())
    elif tail := re.match(_TAIL, line):
        text.stylize(_LOOK[tail[1]], 0, tail.end())
    elif gutter := re.match(_GUTTER, line):
        text.stylize("blue", 0, gutter.end(1))
        if marks := re.match(_MARKS, gutter[2]):
            text.stylize("bold red" if "^" in marks[1] else "blue", gutter.end(1))
        else:
            highlight(text, SOURCE, gutter.end(1))
    elif line.lstrip().startswith("--> "):
        text.stylize("blue", 0, line.index("--> ") + 3)
    return text


def draw(text: str, stream: TextIO, looks: Looks = STAGES) -> None:
    """A dump or a report; only tables that are wider than the terminal are laid out anew."""
    from rich.text import Text

    screen = console(stream)
    for line in fitted(text, screen.width):
        piece = Text(line)
        highlight(piece, looks)
        screen.print(piece, soft_wrap=True)


def fitted(text: str, width: int) -> Iterator[str]:
    """The lines of a report, with its tables in at most `width` columns where that is possible."""
    for _, group in groupby(text.splitlines(), lambda line: not line or line.startswith("# ")):
        lines = [*group]
        rows = narrow.cells(lines) if max(map(len, lines)) > width else None
        yield from lines if rows is None else narrow.fold(rows, width)


def draw_python(text: str, stream: TextIO) -> None:
    """Emitted kernels."""
    from rich.syntax import Syntax

    screen = console(stream)
    screen.print(
        Syntax(text.rstrip("\n"), "python", theme="ansi_light", background_color="default"),
        soft_wrap=True,
    )


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print lines; characters that could steer a terminal are shown as escapes."""
    click.echo(lines_printed(text), err=err, nl=nl)


def echo_notes(notes: Iterable[str], error_format: str) -> None:
    """Print what is worth knowing about a command line, unless a tool reads what is printed."""
    for note in notes if error_format == "text" else ():
        echo(f"note: {note}", err=True)


def as_it_is(text: str) -> None:
    """Print the content of a file on standard output: only a terminal gets escapes."""
    click.echo(lines_printed(text) if sys.stdout.isatty() else text, nl=False)


def lines_printed(text: str) -> str:
    """Lines with escapes for what is not printed; line breaks and tabs stay."""
    return "".join(mark if mark in "\n\t" else printed(mark) for mark in _MARKS_OF_TEXT.split(text))


def show(text: str, *, python: bool = False) -> None:
    """Print a report on standard output: plain in a pipe, with colours on a terminal."""
    text = lines_printed(text)
    if not is_terminal(sys.stdout):
        click.echo(text, nl=False)
    elif python:
        draw_python(text, sys.stdout)
    else:
        draw(text, sys.stdout)


def highlight(text: Text, looks: Looks, start: int = 0) -> None:
    """Give parts of a line their looks; no part gets two."""
    taken = [False] * len(text.plain)
    for pattern, look in looks:
        for match in re.compile(pattern).finditer(text.plain, start):
            if not any(taken[match.start() : match.end()]):
                text.stylize(look, match.start(), match.end())
                taken[match.start() : match.end()] = [True] * (match.end() - match.start())


@contextmanager
def waiting(what: str, progress: Progress) -> Iterator[None]:
    """While the block runs, a terminal shows what a compilation or a search is doing."""
    if not is_terminal(sys.stderr):
        yield
        return
    from rich.text import Text

    screen = console(sys.stderr)

    def line(activity: Activity) -> Text:
        text = Text(printed(activity_text(what, activity)))
        text.truncate(screen.width - 3, overflow="ellipsis")  # the spinner, and a column to spare
        return text

    with screen.status(line(progress.activity), spinner="dots") as status:
        progress.show = lambda activity: status.update(line(activity))
        try:
            yield
        finally:
            progress.show = lambda activity: None


def activity_text(what: str, activity: Activity) -> str:
    """``compiling m.rt: candidate 4 of at most 9, at most about 2 min left: schedule (4 of 7)``."""
    parts = [what]
    if activity.most_left is not None:
        most = activity.tried + activity.most_left
        candidate = f"candidate {min(activity.tried + 1, most)} of at most {most}"
        seconds = activity.seconds_left
        parts.append(candidate + (f", at most about {time_text(seconds)} left" if seconds else ""))
    if activity.phase:
        place = f" ({activity.number} of {len(PHASES)})" if activity.phase in PHASES else ""
        parts.append(f"{activity.phase}{place}")
    return ": ".join([*parts, activity.detail] if activity.detail else parts)


def time_text(seconds: float) -> str:
    """``40 s``, ``3 min``, ``2 h 5 min``: rounded up to what somebody can plan with."""
    if seconds < 100:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
