"""`tempoc opt`: passes on the text form of a graph."""

import click

from tempoc.cli.options.options import FileName, error_format_option
from tempoc.cli.reports.terminal import echo
from tempoc.driver.optimize_text import optimize_text
from tempoc.frontend.syntax.load_modules import read_source


@click.command("opt")
@click.argument("file", type=FileName())
@click.option("--passes", metavar="SPEC", default="", help="The pipeline, e.g. canonicalize,fuse.")
@error_format_option
def command(file: str, passes: str, error_format: str) -> None:
    """Read a graph in text form (`-`: standard input), run a pipeline on it, print the result."""
    echo(optimize_text(read_source(file), passes), nl=False)
