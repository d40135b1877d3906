"""`tempoc explain`: what the compiler makes of a program."""

from pathlib import Path

import click

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
    memory: bool,
    cost: bool,
    slow: bool,
    copies: bool,
    capture: bool,
    bounds: tuple[str, ...],
    solve: str | None,
    memory_budget: int | None,
    extern_path: tuple[str, ...],
    variants: bool,
    options: Options,
    about: About,
    **dumps: bool,
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
    echo_notes(compilation.notes, about.error_format)
    chosen = [view for view in VIEWS if dumps[f"dump_{view}"]]
    reports = memory or cost or slow or copies or capture
    _refuse_alone(memory, reports, bounds, solve, memory_budget)
    if extern_path and not (copies or capture):
        refuse("--extern-path belongs to --copies and --capture")
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
    if memory:
        from tempoc.cli.reports.memory import echo_memory

        echo_memory(compilation, bounds, solve, memory_budget)
    which = {"cost": cost, "slow": slow, "copies": copies, "capture": capture}
    _echo_cost(compilation, bounds, extern_path, **which, after=memory)
    write_dumps(compilation, about)
    echo_about(compilation, about)


def _echo_cost(
    compilation: Compilation,
    bounds: tuple[str, ...],
    paths: tuple[str, ...],
    *,
    cost: bool,
    slow: bool,
    copies: bool,
    capture: bool,
    after: bool,
) -> None:
    """What is computed, moved and launched; ``after``: below another report."""
    if cost:
        from tempoc.cli.reports.cost import echo_cost

        echo_cost(compilation, bounds, after=after)
    if slow:
        from tempoc.cli.reports.slow import echo_slow

        echo_slow(compilation, bounds, after=after or cost)
    if copies:
        from tempoc.cli.reports.copies import echo_copies

        echo_copies(compilation, bounds, paths, after or cost or slow)
    if capture:
        from tempoc.cli.reports.copies import echo_capture

        echo_capture(compilation, bounds, paths, after=after or cost or slow or copies)


def _refuse_alone(
    memory: bool, reports: bool, bounds: tuple[str, ...], solve: str | None, budget: int | None
) -> None:
    """Options that say something about a report that nobody wants."""
    if not memory and (solve is not None or budget is not None):
        refuse("--solve and --memory-budget belong to --memory")
    if bounds and not reports:
        refuse("--bounds belongs to --memory, --cost, --slow, --copies and --capture")
