"""Start `tempoc`, or say which version of Python or of a package it lacks."""

import importlib
import sys

from tempoc.cli.reports.errors import unmet_requirement
from tempoc.cli.reports.requirements import PYTHON, unmet_requirements
from tempoc.diagnostics.render import render_all
from tempoc.diagnostics.requirements import dotted


def main() -> None:
    """The console script. Packages are looked at only if importing the command line fails."""
    if sys.version_info < PYTHON:
        sentence = f"Python {sys.version.split()[0]} is too old"
        problems = [unmet_requirement(sentence, f"use {dotted(PYTHON)} or later")]
    else:
        try:
            command_line = importlib.import_module("tempoc.cli.main")
        except Exception:
            problems = unmet_requirements()
            if not problems:
                raise
        else:
            command_line.main()
            return
    sys.stderr.write(render_all(problems))
    sys.exit(1)
