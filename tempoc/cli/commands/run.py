"""`tempoc run`: a compiled directory, or a program compiled on the spot."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from tempoc.base.cost_model import MODEL
from tempoc.cli.options import options
from tempoc.cli.options.checks import check_option, parse_checks
from tempoc.cli.options.compile_options import refuse_if_compiled, with_constants
from tempoc.cli.options.kernels import compare_kernels, kernel_options, with_kernels
from tempoc.cli.reports.terminal import echo_notes, waiting
from tempoc.cli.reports.tuning import check_tuning, tune_run
from tempoc.cli.reports.verify import compare_with_reference
from tempoc.driver.compilation import Compilation
from tempoc.runtime.data.bindings import bind
from tempoc.runtime.device import available, small_loops
from tempoc.runtime.execute import execute, open_inputs
from tempoc.runtime.forecast.budget import most_bytes
from tempoc.runtime.options import RunOptions, run_options


@click.command("run")
@click.argument("program", type=options.FileName())
@options.declared(*options.RUN_DATA)
@options.constant_options
@options.limit_option
@kernel_options
@options.declared(
    "stats", "memory", "memory_budget", "memory_plot", "checkpoint", "every", "resume"
)
@options.declared("resume_anyway", "precision", "profile")
@click.option(
    "--verify", is_flag=True, help="Compare with the reference evaluator (exit status 3)."
)
@check_option
@click.option(
    "--tune",
    is_flag=True,
    help="Measure which way to compute is the fastest here, and record it beside PROGRAM.",
)
@options.error_format_option
def command(
    program: str,
    defines: tuple[str, ...],
    config: str | None,
    limits: tuple[str, ...],
    dispatch: str | None,
    no_dispatch: bool,
    device: str | None,
    verify: bool,
    checks: str,
    tune: bool,
    error_format: str,
    **given: Any,
) -> int:
    """Run PROGRAM: a directory made by `tempoc compile`, or a .rt file, compiled on the spot.

    Bounds that can be read off the shapes of the data need not be given. Without --output and
    --output-dir, a table of the outputs is printed.
    """
    # Before the device is asked for its memory.
    small_loops.compile_whole(MODEL.whole_loop_bytes)
    request = replace(run_options(program, given, options.refuse), record=verify or bool(checks))
    again = Reevaluation(verify=verify, checks=parse_checks(checks))
    if tune:
        check_tuning(request)
    if Path(program).is_dir() or not (program == "-" or program.endswith(".rt")):
        refuse_if_compiled(program)
        if tune:
            tune_run(request, is_recorded=True)
        return _run(request, None, again)
    chosen = with_constants(defines, config, limits)
    chosen = with_kernels(chosen, dispatch, no_dispatch, device)
    compilation = Compilation.from_path(program, chosen)
    echo_notes(compilation.notes, error_format)
    with waiting(f"compiling {program}", compilation.progress):
        if request.memory_budget is not None or may_exceed_device(compilation, request):
            from tempoc.cli.reports.memory import within_budget_of_run

            compilation = within_budget_of_run(compilation, request, request.memory_budget)
    with tempfile.TemporaryDirectory(prefix="tempoc-") as folder:
        directory = str(Path(folder, "out"))
        with waiting(f"compiling {program}", compilation.progress):
            compare_kernels(compilation)
            compilation.write(directory, durable=False)
        request = replace(request, directory=directory)
        if tune:
            tune_run(request, is_recorded=False)
        return _run(request, compilation, again)


def may_exceed_device(compilation: Compilation, request: RunOptions) -> bool:
    """Whether all stores with temporary buffers may be more than the device has: a quick look."""
    memory = available.device_memory()
    if memory is None:
        return False
    program = compilation.emitted.program
    return most_bytes(program, bind(program, open_inputs(request)).bounds) > memory // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reevaluation:
    """What is looked at once more with the reference evaluator, after a run."""

    verify: bool
    checks: tuple[str, ...]


def _run(request: RunOptions, compilation: Compilation | None, again: Reevaluation) -> int:
    evaluated = again.verify or bool(again.checks)
    if evaluated and compilation is None:
        compilation = Compilation.from_directory(request.directory)
    given, result = execute(request)
    if request.stats:
        from tempoc.cli.reports.slow import echo_dearest

        echo_dearest(request, result, compilation)
    if not evaluated or compilation is None:
        return 0
    return compare_with_reference(
        compilation,
        given,
        result,
        request.extern_path,
        verify=again.verify,
        checks=again.checks,
    )
