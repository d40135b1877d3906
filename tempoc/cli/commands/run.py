"""`tempoc run`: a compiled directory, or a program compiled on the spot."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tempoc.cli.options import options
from tempoc.cli.options.compile_options import parse_defines, parse_limits, refuse_if_compiled
from tempoc.cli.reports.terminal import waiting
from tempoc.cli.reports.tuning import check_tuning, tune_run
from tempoc.cli.reports.verify import compare_with_reference
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.runtime.execute import execute
from tempoc.runtime.options import RunOptions, run_options


@click.command("run")
@click.argument("program", type=options.FileName())
@options.declared(*options.RUN_DATA)
@options.define_option
@options.limit_option
@options.declared(
    "stats", "memory", "memory_budget", "memory_plot", "checkpoint", "every", "resume"
)
@options.declared("precision", "profile")
@click.option(
    "--verify", is_flag=True, help="Compare with the reference evaluator (exit status 3)."
)
@click.option(
    "--tune",
    is_flag=True,
    help="Measure which way to compute is the fastest here, and record it beside PROGRAM.",
)
@options.error_format_option
def command(
    program: str,
    defines: tuple[str, ...],
    limits: tuple[str, ...],
    verify: bool,
    tune: bool,
    error_format: str,
    **given: Any,
) -> int:
    """Run PROGRAM: a directory made by `tempoc compile`, or a .rt file, compiled on the spot.

    Bounds that can be read off the shapes of the data need not be given. Without --output and
    --output-dir, a table of the outputs is printed.
    """
    wanted = replace(run_options(program, given, options.refuse), record=verify)
    if tune:
        check_tuning(wanted)
    if Path(program).is_dir() or not (program == "-" or program.endswith(".rt")):
        refuse_if_compiled(program)
        if tune:
            tune_run(wanted, kept=True)
        return _run(wanted, None, verify)
    chosen = Options(defines=parse_defines(defines), limits=parse_limits(limits))
    compilation = Compilation.from_path(program, chosen)
    if wanted.memory_budget is not None:
        from tempoc.cli.reports.memory import within_budget_of_run

        with waiting(f"compiling {program}", compilation.progress):
            compilation = within_budget_of_run(compilation, wanted, wanted.memory_budget)
    with tempfile.TemporaryDirectory(prefix="tempoc-") as folder:
        directory = str(Path(folder, "out"))
        with waiting(f"compiling {program}", compilation.progress):
            compilation.write(directory, durable=False)
        wanted = replace(wanted, directory=directory)
        if tune:
            tune_run(wanted, kept=False)
        return _run(wanted, compilation, verify)


def _run(wanted: RunOptions, compilation: Compilation | None, verify: bool) -> int:
    if verify and compilation is None:
        compilation = Compilation.from_directory(wanted.directory)
    given, result = execute(wanted)
    if not verify or compilation is None:
        return 0
    return compare_with_reference(compilation, given, result, wanted.extern_path)
