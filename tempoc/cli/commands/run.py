"""`tempoc run`: a compiled directory, or a program compiled on the spot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tempoc.base.run_costs import RUN_COSTS
from tempoc.cli.importing import importing
from tempoc.cli.options import options
from tempoc.cli.options.checks import check_option, parse_checks
from tempoc.cli.options.compile_options import refuse_if_compiled, with_constants
from tempoc.cli.options.kernels import kernel_options, with_kernels
from tempoc.cli.reports.terminal import echo
from tempoc.runtime.device import small_loops
from tempoc.runtime.execute import execute
from tempoc.runtime.options import RunOptions, run_options

if TYPE_CHECKING:
    from tempoc.driver.compilation import Compilation


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
    # Before anything asks for the device.
    small_loops.compile_whole(RUN_COSTS.unmarked_loop_bytes)
    looked_for = parse_checks(checks)
    request = replace(
        run_options(program, given, options.refuse), record=verify or bool(looked_for)
    )
    if tune:
        with importing("tuning"):
            from tempoc.cli.reports.tuning import check_tuning

        check_tuning(request)
    if Path(program).is_dir() or not (program == "-" or program.endswith(".rt")):
        refuse_if_compiled(program)
        return _run(request, None, verify=verify, checks=looked_for, tune=tune)
    with importing("on_the_spot"):
        from tempoc.cli.on_the_spot import compiled

    chosen = with_constants(defines, config, limits)
    chosen = with_kernels(chosen, dispatch, no_dispatch, device)
    with compiled(request, chosen, error_format) as (request, compilation):
        return _run(request, compilation, verify=verify, checks=looked_for, tune=tune)


def _run(
    request: RunOptions,
    compilation: Compilation | None,
    *,
    verify: bool,
    checks: tuple[str, ...],
    tune: bool,
) -> int:
    """Run a compiled program; `compilation` is there if it has just been compiled.

    The compiler is loaded only for what needs it, so that a compiled program starts at once.
    """
    if tune:
        with importing("tuning"):
            from tempoc.cli.reports.tuning import tune_run

        tune_run(request, is_recorded=compilation is None)
    if compilation is None and (verify or checks):
        with importing("compilation"):
            from tempoc.driver.compilation import Compilation

        compilation = Compilation.from_directory(request.directory)
    given, result = execute(request)
    if request.stats and compilation is not None and not result.variant:
        with importing("slow"):
            from tempoc.cli.reports.slow import echo_dearest

        echo_dearest(result, compilation)
    elif request.stats:
        echo("`tempoc explain --slow` estimates what costs most, and says why", err=True)
    if compilation is None or not (verify or checks):
        return 0
    with importing("reference"):
        from tempoc.cli.reports.verify import compare_with_reference

    paths = request.extern_path
    return compare_with_reference(compilation, given, result, paths, verify=verify, checks=checks)
