"""`tempoc explain`: what the compiler makes of a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from tempoc.cli.importing import importing
from tempoc.cli.options.compile_options import (
    About,
    compile_options,
    dump_options,
    refuse_if_compiled,
)
from tempoc.cli.options.memory import memory_options
from tempoc.cli.options.options import FileName, declared, refuse
from tempoc.cli.reports.dumps import (
    echo_about,
    echo_stages,
    echo_variants,
    stage_texts,
    write_dumps,
)
from tempoc.cli.reports.terminal import echo, echo_notes, waiting
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.stages import VIEWS

REPORTS = ("memory", "cost", "slow", "copies", "capture")
"""The options that show more than a stage, in the order in which they are shown."""


class ReportOptions(NamedTuple):
    """What the other options say about reports; ``paths`` are those of Python functions."""

    bounds: tuple[str, ...]
    solve: str | None
    budget: int | None
    paths: tuple[str, ...]


@click.command("explain")
@click.argument("file", type=FileName())
@click.option("--dump-sdg", is_flag=True, help="The graph after the front end.")
@click.option("--dump-passes", is_flag=True, help="The graph after each pass; what is new, marked.")
@click.option("--dump-optimized", is_flag=True, help="The graph after all passes.")
@click.option("--dump-schedule", is_flag=True, help="The loops.")
@click.option(
    "--dump-memory", is_flag=True, help="Where every tensor lives, with sizes as formulas."
)
@click.option(
    "--memory", is_flag=True, help="The peak of all stores as a formula of the bounds, by store."
)
@click.option(
    "--cost",
    is_flag=True,
    help="FLOPs, bytes and arithmetic intensity of each kernel as formulas of the bounds.",
)
@click.option(
    "--slow",
    is_flag=True,
    help="The loops and kernels that cost most, why they do, and what would help.",
)
@click.option(
    "--copies",
    is_flag=True,
    help="What XLA updates in place, needs beside stores, and copies, for given --bounds.",
)
@click.option(
    "--capture",
    is_flag=True,
    help="Which loops and functions one CUDA graph can hold, what prevents the others.",
)
@memory_options
@declared("extern_path")
@click.option(
    "--variants",
    is_flag=True,
    help="Which programs a compiled directory holds that compute the same, and when each is run.",
)
@click.option("--dump-program", is_flag=True, help="What the runner executes.")
@click.option("--dump-kernels", is_flag=True, help="The emitted JAX.")
@compile_options
@dump_options
def command(
    file: str,
    bounds: tuple[str, ...],
    solve: str | None,
    memory_budget: int | None,
    extern_path: tuple[str, ...],
    variants: bool,
    options: Options,
    about: About,
    **flags: bool,
) -> None:
    """Show stages of FILE, a program or a directory made by `tempoc compile`.

    Without --dump options: the schedule, and where every tensor lives. With --memory the most bytes
    that are in stores at one time, with --cost what is computed and moved, with --slow what takes
    most of the time and why, with --copies what XLA makes of the kernels, with --capture what CUDA
    graphs hold of them.
    """
    is_compiled = file != "-" and Path(file).is_dir()
    if is_compiled:
        refuse_if_compiled(file, "precision")
    elif variants:
        refuse("--variants is about directories that tempoc compile made")
    compilation = Compilation.from_path(file, options)
    echo_notes(compilation.configuration.notes(), about.error_format)
    chosen = [view for view in VIEWS if flags[f"dump_{view}"]]
    reports = [report for report in REPORTS if flags[report]]
    of_reports = ReportOptions(bounds, solve, memory_budget, extern_path)
    _refuse_alone(reports, of_reports)
    usual = not (chosen or reports or variants or about.dump_after or about.dump_dir)
    chosen = ["schedule", "memory"] if usual else chosen
    with waiting(f"compiling {file}", compilation.progress):
        texts = stage_texts(compilation, chosen)
        if reports:
            compilation.emitted  # noqa: B018 - the reports need it, and print as they go
    echo_stages(texts)
    if is_compiled and (usual or variants):
        echo_variants(file, always=variants, after=bool(chosen))
    if (chosen or variants) and reports:
        echo()
    for k, report in enumerate(reports):
        _echo_report(report, compilation, of_reports, after=k > 0)
    write_dumps(compilation, about)
    echo_about(compilation, about)


def _echo_report(
    report: str, compilation: Compilation, options: ReportOptions, *, after: bool
) -> None:
    """One of `REPORTS`; ``after``: below another one."""
    bounds, paths = options.bounds, options.paths
    match report:
        case "memory":
            with importing(report):
                from tempoc.cli.reports.memory import echo_memory

            echo_memory(compilation, bounds, options.solve, options.budget)
        case "cost":
            with importing(report):
                from tempoc.cli.reports.cost import echo_cost

            echo_cost(compilation, bounds, after=after)
        case "slow":
            with importing(report):
                from tempoc.cli.reports.slow import echo_slow

            echo_slow(compilation, bounds, after=after)
        case "copies":
            with importing(report):
                from tempoc.cli.reports.copies import echo_copies

            echo_copies(compilation, bounds, paths, after=after)
        case "capture":
            with importing(report):
                from tempoc.cli.reports.copies import echo_capture

            echo_capture(compilation, bounds, paths, after=after)


def _refuse_alone(reports: Sequence[str], options: ReportOptions) -> None:
    """Options that say something about a report that nobody wants."""
    if "memory" not in reports and (options.solve is not None or options.budget is not None):
        refuse("--solve and --memory-budget belong to --memory")
    if options.bounds and not reports:
        refuse("--bounds belongs to --memory, --cost, --slow, --copies and --capture")
    if options.paths and not {"copies", "capture"} & {*reports}:
        refuse("--extern-path belongs to --copies and --capture")
