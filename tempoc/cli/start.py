"""Start `tempoc`, or say which version of Python or of a package it lacks."""

import gc
import sys

TYPE_CHECKING = False
"""As that of `typing`, which is imported where no garbage is collected."""

if TYPE_CHECKING:
    from collections.abc import Callable

    from tempoc.diagnostics.diagnostic import Diagnostic


def main() -> None:
    """The console script. Packages are looked at only if importing the command line fails."""
    gc.disable()  # what is imported stays until the end, from the first module on
    try:
        from tempoc.cli.kept_methods import kept_methods

        with kept_methods("start"):
            start = _imported()
    finally:
        gc.freeze()
        gc.enable()
    start()


def _imported() -> "Callable[[], None]":
    """The command line, or what says why it cannot be imported."""
    from functools import partial
    from importlib import import_module

    from tempoc.cli.reports.errors import unmet_requirement
    from tempoc.cli.reports.requirements import PYTHON, unmet_requirements
    from tempoc.diagnostics.requirements import dotted

    if sys.version_info < PYTHON:
        sentence = f"Python {sys.version.split()[0]} is too old"
        return partial(_refuse, [unmet_requirement(sentence, f"use {dotted(PYTHON)} or later")])
    try:
        command_line: Callable[[], None] = import_module("tempoc.cli.main").main
    except Exception:
        problems = unmet_requirements()
        if not problems:
            raise
        return partial(_refuse, problems)
    return command_line


def _refuse(problems: "list[Diagnostic]") -> None:
    from tempoc.diagnostics.render import render_all

    sys.stderr.write(render_all(problems))
    sys.exit(1)
