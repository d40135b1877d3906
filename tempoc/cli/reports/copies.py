"""The report of `explain --copies`: kernels are compiled for it, so it wants bounds.

Imports what a run needs: the command imports this file late.
"""

import tempfile
from pathlib import Path

from tempoc.cli.options.options import refuse
from tempoc.cli.reports.terminal import show
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.copies import audit, copies_text
from tempoc.runtime.options import parse_bounds


def echo_copies(compilation: Compilation, given: tuple[str, ...], apart: bool) -> None:
    """Print what XLA makes of the functions of a program for some bounds; `apart`: a line first."""
    bounds = parse_bounds(given, refuse)
    show("\n" * apart)
    with tempfile.TemporaryDirectory(prefix="tempoc-") as folder:
        directory = str(Path(folder, "out"))
        compilation.write(directory, durable=False)
        show(copies_text(audit(directory, bounds)))
