"""Start `tempoc`, or say which version of Python or of a package it lacks."""

import gc
import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tempoc.cli.kept_methods import kept_methods

if TYPE_CHECKING:
    from tempoc.diagnostics.diagnostic import Diagnostic


def main() -> None:
    """The console script. Packages are looked at only if importing the command line fails."""
    gc.disable()  # what is imported stays until the end
    try:
        with kept_methods("start"):
            start = _imported()
    finally:
        gc.enable()
    start()


def _imported() -> Callable[[], None]:
    """The command line, or what says why it cannot be imported."""
    from tempoc.cli.reports.errors import unmet_requirement
    from tempoc.cli.reports.requirements import PYTHON, unmet_requirements
    from tempoc.diagnostics.requirements import dotted

    if sys.version_info < PYTHON:
        sentence = f"Python {sys.version.split()[0]} is too old"
        return partial(_refuse, [unmet_requirement(sentence, f"use {dotted(PYTHON)} or later")])
    try:
        command_line: Callable[[], None] = importlib.import_module("tempoc.cli.main").main
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
