"""The front end alone, for commands that must answer at once: nothing else is imported here."""

from tempoc.driver.options import Options
from tempoc.frontend.elaborate import elaborate
from tempoc.frontend.modules import load_file
from tempoc.sdg.graph import Graph


def check_file(path: str, options: Options) -> Graph:
    """The graph of a program, every access proved; raises `DiagnosticError`."""
    return elaborate(load_file(path, tolerant=True), options.defines)
