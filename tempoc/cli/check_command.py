"""`tempoc check`: the front end alone."""

import click

from tempoc.base.diagnostics import Diagnostic, DiagnosticError
from tempoc.cli.options import FileName, define_option, error_format_option, options_from
from tempoc.driver.front import check_file


@click.command("check")
@click.argument("files", nargs=-1, required=True, type=FileName(), metavar="FILE...")
@define_option
@error_format_option
def command(files: tuple[str, ...], defines: tuple[str, ...], error_format: str) -> None:
    """Check programs without compiling them; `-` reads standard input."""
    found: list[Diagnostic] = []
    for file in files:
        try:
            graph = check_file(file, options_from(defines))
            click.echo(f"{file}: fine, {len(graph.nodes)} operators", err=True)
        except DiagnosticError as error:
            found += error.diagnostics
    if found:
        raise DiagnosticError(*found)
