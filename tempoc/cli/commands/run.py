"""`tempoc run`: a compiled directory, or a program compiled on the spot."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tempoc.cli.options.checkpoints import checkpoint_options
from tempoc.cli.options.memory import budget_option
from tempoc.cli.options.options import (
    FileName,
    define_option,
    error_format_option,
    options_from,
    precision_option,
    refuse,
    refuse_if_compiled,
)
from tempoc.cli.options.run_options import run_options, run_options_from
from tempoc.cli.reports.tuning import check_tuning, tune_run
from tempoc.cli.reports.verify import compare_with_reference
from tempoc.driver.compilation import Compilation
from tempoc.runtime.execute import RunOptions, check_every, execute


@click.command("run")
@click.argument("program", type=FileName())
@run_options
@define_option
@click.option("--stats", is_flag=True, help="Say on standard error what the run took.")
@click.option(
    "--memory", is_flag=True, help="Say what stores took at most, and what was predicted."
)
@budget_option
@click.option(
    "--memory-plot",
    type=FileName(),
    metavar="FILE",
    help="Draw the bytes in stores over time (SVG).",
)
@checkpoint_options
@precision_option
@click.option(
    "--profile", type=FileName(), metavar="FILE", help="Write a Chrome trace of all kernel calls."
)
@click.option(
    "--verify", is_flag=True, help="Compare with the reference evaluator (exit status 3)."
)
@click.option(
    "--tune",
    is_flag=True,
    help="Measure which way to compute is the fastest here, and record it beside PROGRAM.",
)
@error_format_option
def command(
    program: str,
    defines: tuple[str, ...],
    verify: bool,
    tune: bool,
    error_format: str,
    **given: Any,
) -> int:
    """Run PROGRAM: a directory made by `tempoc compile`, or a .rt file, compiled on the spot.

    Bounds that can be read off the shapes of the data need not be given. Without --output and
    --output-dir, a table of the outputs is printed.
    """
    wanted = check_every(replace(run_options_from(program, given), record=verify), refuse)
    if tune:
        check_tuning(wanted)
    if Path(program).is_dir() or not (program == "-" or program.endswith(".rt")):
        refuse_if_compiled(program)
        if tune:
            tune_run(wanted, kept=True)
        return _run(wanted, None, verify)
    compilation = Compilation.from_path(program, options_from(defines))
    if wanted.memory_budget is not None:
        from tempoc.cli.reports.memory import within_budget_of_run

        compilation = within_budget_of_run(compilation, wanted, wanted.memory_budget)
    with tempfile.TemporaryDirectory(prefix="tempoc-") as folder:
        directory = str(Path(folder, "out"))
        compilation.write(directory)
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
