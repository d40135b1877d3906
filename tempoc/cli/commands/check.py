"""`tempoc check`: the front end, and whether there is an order of execution.

Of the directory of a compiled program it compares every file with what was written.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from tempoc.cli.importing import importing
from tempoc.cli.options.compile_options import with_constants
from tempoc.cli.options.options import (
    FileName,
    constant_options,
    error_format_option,
    limit_option,
)
from tempoc.cli.reports.terminal import echo, echo_notes
from tempoc.diagnostics.diagnostic import Collector
from tempoc.diagnostics.render import printed
from tempoc.driver.check import Checked, check_file, python_functions
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph


@click.command("check")
@click.argument("files", nargs=-1, required=True, type=FileName(), metavar="FILE...")
@constant_options
@limit_option
@error_format_option
def command(
    files: tuple[str, ...],
    defines: tuple[str, ...],
    config: str | None,
    limits: tuple[str, ...],
    error_format: str,
) -> None:
    """Check programs without compiling them; `-` reads standard input.

    Of a directory that `tempoc compile` made, every file is compared with what was written. The
    Python functions that a run would call are listed, not imported.
    """
    errors = Collector()
    options = with_constants(defines, config, limits)
    for file in files:
        with errors.catching():
            if Path(file).is_dir():
                with importing("directory"):
                    from tempoc.cli.reports.directory import check_directory

                text, functions = check_directory(file)
                echo(f"{printed(file)}: {text}{_calls(functions)}", err=True)
                continue
            checked = check_file(file, options, _differentiate)
            echo_notes(checked.notes, error_format)
            if checked.doubtful:
                _check_order(checked)
            text = f"fine, {len(checked.graph.nodes)} operators"
            echo(f"{printed(file)}: {text}{_calls(python_functions(checked.graph))}", err=True)
    errors.raise_errors()


def _calls(functions: Sequence[str]) -> str:
    """The Python functions that a run would call, for those who want to read them first."""
    return f"; calls the Python functions {', '.join(functions)}" if functions else ""


def _differentiate(graph: Graph, space: Space) -> Graph:
    """As `differentiate`, which only programs with gradients wait for."""
    with importing("gradients"):
        from tempoc.autodiff.differentiate import differentiate

    return differentiate(graph, space)


def _check_order(checked: Checked) -> None:
    """Refuse what `compile` refuses because there is no order of execution, in the same words."""
    with importing("order"):
        from tempoc.driver.check_order import has_order

    if has_order(checked.statements, checked.space, checked.doubtful):
        return
    with importing("compilation"):
        from tempoc.driver.compilation import Compilation

    # The solver may find no order where there is one; what passes make is ordered more easily.
    compilation = Compilation(checked.loaded, checked.options)
    compilation.graph = checked.graph
    _ = compilation.ordered
