"""`tempoc compile`: from a program to a directory that runs by itself."""

from dataclasses import replace

import click

from tempoc.cli.importing import importing
from tempoc.cli.options.compile_options import About, compile_options, dump_options
from tempoc.cli.options.kernels import compare_kernels, kernel_notes
from tempoc.cli.options.options import FileName, declared
from tempoc.cli.reports.dumps import echo_about, write_dumps
from tempoc.cli.reports.terminal import echo_notes, waiting
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.program.nodes.variants import Variant


@click.command("compile")
@click.argument("file", type=FileName())
@click.option(
    "-o", "--out", type=FileName(), required=True, metavar="DIR", help="The directory to make."
)
@compile_options
@declared("memory_budget")
@click.option(
    "--bounds",
    multiple=True,
    metavar="T=1..4096,B=2",
    help="Bounds, or ranges of them, with which a run is to keep to --memory-budget, by default "
    "what the device has.",
)
@dump_options
def command(
    file: str,
    out: str,
    options: Options,
    about: About,
    memory_budget: int | None,
    bounds: tuple[str, ...],
) -> None:
    """Compile FILE (`-` reads standard input) into a directory for `tempoc run` or `python`."""
    options = replace(options, memory_budget=memory_budget)
    compilation = Compilation.from_path(file, options)
    echo_notes(compilation.configuration.notes(), about.error_format)
    family: dict[Variant, Compilation] = {}
    if bounds or memory_budget is not None:
        with importing("memory"):
            from tempoc.cli.reports.memory import within_budget

        with waiting(f"compiling {file}", compilation.progress):
            family = within_budget(compilation, bounds, memory_budget)
        compilation = next(iter(family.values()))
    with waiting(f"compiling {file}", compilation.progress):
        write_dumps(compilation, about)
        compare_kernels(compilation)
        compilation.write(out, family if len(family) > 1 else None)
    echo_notes(kernel_notes(compilation), about.error_format)
    echo_about(compilation, about)
