"""What a user sees when something is wrong."""

import io
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import click

from tempoc import __version__
from tempoc.cli.reports import errors
from tempoc.cli.reports.diagnostics_json import render_json
from tempoc.cli.reports.requirements import unmet_requirements
from tempoc.cli.reports.terminal import draw_diagnostics, echo
from tempoc.diagnostics.diagnostic import Diagnostic, DiagnosticError
from tempoc.diagnostics.render import render_all
from tempoc.runtime.messages import failures
from tempoc.runtime.report.streams import is_terminal

WRONG_PROGRAM = 1
WRONG_COMMAND_LINE = 2
CHECK_FAILED = 3
BUG = 70
INTERRUPTED = 130


class CheckFailed(DiagnosticError):
    """`--verify` found a difference: exit status 3 instead of 1."""


def report_diagnostics(diagnostics: Sequence[Diagnostic], argv: Sequence[str]) -> int:
    """Print diagnostics on standard error, as text or as JSON if the command line says so.

    Returns the exit status: a text that was an option's value makes a wrong command line.
    """
    if _wants_json(argv):
        echo(render_json(diagnostics), err=True, nl=False)
    elif is_terminal(sys.stderr):
        draw_diagnostics(render_all(diagnostics), sys.stderr)
    else:
        echo(render_all(diagnostics), err=True, nl=False)
    paths = [d.primary.span.source.path for d in diagnostics if d.primary is not None]
    return WRONG_COMMAND_LINE if any(p.startswith("--") for p in paths) else WRONG_PROGRAM


def report_usage(error: click.ClickException, argv: Sequence[str]) -> int:
    """Say what is wrong with a command line and where its help is."""
    if _wants_json(argv):
        context = getattr(error, "ctx", None)
        command = "tempoc" if context is None else context.command_path
        message = error.format_message().rstrip(".")
        report_diagnostics([errors.wrong_command_line(message, f"{command} --help")], argv)
    else:
        shown = io.StringIO()
        error.show(shown)
        echo(shown.getvalue(), err=True, nl=False)
    return error.exit_code


def report_system(error: OSError, argv: Sequence[str]) -> int:
    """A full disk, a missing temporary directory: not what was expected, but no bug either."""
    what = str(error.filename) if error.filename is not None else _unnamed()
    return report_diagnostics([failures.system_refuses(what, error.strerror or str(error))], argv)


def _unnamed() -> str:
    """What it is that the system refuses, where it does not say so."""
    try:
        os.getcwd()
    except OSError:
        return "the working directory"
    return "the output"


def report_library(error: BaseException, argv: Sequence[str]) -> int | None:
    """Say that a library is missing, too old, or fails; `None` if it is another error."""
    if unmet := unmet_requirements():
        return report_diagnostics(unmet, argv)
    module = error.name if isinstance(error, ImportError) else None
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        module = error.obj.__name__
    is_missing = module is not None and module.partition(".")[0] != "tempoc"
    if not (is_missing or _is_importing(error)):
        return None
    reason = f"{type(error).__name__}: {error}".split("\n")[0]
    return report_diagnostics([errors.library_fails(reason)], argv)


def _is_importing(error: BaseException) -> bool:
    """Whether a library failed while it was imported."""
    import traceback

    place, is_importing = Path(__file__).parents[2], False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if place in Path(frame.f_code.co_filename).parents:
            is_importing = False
        elif frame.f_code.co_name == "<module>":
            is_importing = True
    return is_importing


def report_bug(error: BaseException, argv: Sequence[str]) -> int:
    """Say that this is our fault, and how to report it; the traceback only on request."""
    import shlex
    import traceback

    report_diagnostics([failures.bug(error, shlex.join(["tempoc", *argv]), __version__)], argv)
    if os.environ.get("TEMPOC_TRACEBACK"):
        traceback.print_exception(error)
    return BUG


def _wants_json(argv: Sequence[str]) -> bool:
    return "--error-format=json" in argv or ("--error-format", "json") in pairwise(argv)
