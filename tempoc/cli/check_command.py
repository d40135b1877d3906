"""`tempoc check`: the front end alone."""

import click

from tempoc.cli.options import define_option, error_format_option, options_from
from tempoc.driver.compilation import Compilation


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@define_option
@error_format_option
def command(files: tuple[str, ...], defines: tuple[str, ...], error_format: str) -> None:
    """Check programs without compiling them; `-` reads standard input."""
    for file in files:
        compilation = Compilation.from_path(file, options_from(defines))
        graph = compilation.graph
        if file != "-":
            click.echo(f"{file}: fine, {len(graph.nodes)} operators", err=True)
