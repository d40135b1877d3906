"""What a user sees when something is wrong."""

import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise

import click

from tempoc import __version__
from tempoc.base.diagnostics import Diagnostic
from tempoc.base.render import render_all, render_json
from tempoc.runtime.problems import Problem

WRONG_PROGRAM = 1
CHECK_FAILED = 3
BUG = 70
INTERRUPTED = 130


def use_color() -> bool:
    """Whether standard error is a terminal that wants colours (`NO_COLOR` is respected)."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def report_diagnostics(diagnostics: Sequence[Diagnostic], argv: Sequence[str]) -> int:
    """Print diagnostics on standard error, as text or as JSON if the command line says so."""
    if _wants_json(argv):
        click.echo(render_json(diagnostics), err=True, nl=False)
    else:
        click.echo(render_all(diagnostics, color=use_color()), err=True, nl=False)
    return WRONG_PROGRAM


def report_problems(problems: Sequence[Problem], argv: Sequence[str]) -> int:
    """Print what is wrong with a run, which has its own kind of diagnostics (without spans)."""
    same = [
        Diagnostic(code=p.code, message=p.message, notes=p.notes, help=p.help) for p in problems
    ]
    return report_diagnostics(same, argv)


def _wants_json(argv: Sequence[str]) -> bool:
    return "--error-format=json" in argv or any(
        a == "--error-format" and b == "json" for a, b in pairwise(argv)
    )


def report_bug(error: Exception, argv: Sequence[str]) -> int:
    """Say that this is our fault, and how to report it; the traceback only on request."""
    line = " ".join(["tempoc", *argv])
    click.echo(
        f"error[RT999]: tempoc itself failed: {type(error).__name__}: {error}\n"
        f"note: this is a bug in tempoc {__version__}, not in your program\n"
        f"help: please report it with the program, this command line and the traceback that\n"
        f"      `TEMPOC_TRACEBACK=1 {line}` shows",
        err=True,
    )
    if os.environ.get("TEMPOC_TRACEBACK"):
        traceback.print_exception(error)
    return BUG
