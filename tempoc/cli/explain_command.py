"""`tempoc explain`: what the compiler makes of a program."""

from pathlib import Path

import click

from tempoc.cli.memory import memory_options
from tempoc.cli.options import (
    FileName,
    compile_options,
    dump_options,
    options_from,
    refuse,
    refuse_if_compiled,
)
from tempoc.cli.show import echo_counts, echo_remarks, echo_timing, write_dumps
from tempoc.driver.compilation import Compilation
from tempoc.driver.stages import VIEWS, stage_text


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
@memory_options
@click.option("--dump-program", is_flag=True, help="What the runner executes.")
@click.option("--dump-kernels", is_flag=True, help="The emitted JAX.")
@compile_options
@dump_options
def command(
    file: str,
    dump_sdg: bool,
    dump_passes: bool,
    dump_optimized: bool,
    dump_schedule: bool,
    dump_memory: bool,
    memory: bool,
    bounds: tuple[str, ...],
    solve: str | None,
    memory_budget: int | None,
    dump_program: bool,
    dump_kernels: bool,
    defines: tuple[str, ...],
    level: str,
    passes: str | None,
    tile: int | None,
    regions: bool | None,
    bucket: int,
    verify_each: bool,
    timing: bool,
    remarks: bool,
    stats: bool,
    error_format: str,
    dump_after: str | None,
    dump_dir: Path | None,
) -> None:
    """Show stages of FILE, a program or a directory made by `tempoc compile`.

    Without --dump options: the schedule, and where every tensor lives. With --memory the most bytes
    that are in stores at one time.
    """
    if file != "-" and Path(file).is_dir():
        refuse_if_compiled(file)
    options = options_from(defines, level, passes, verify_each, tile, regions, bucket)
    compilation = Compilation.from_path(file, options)
    later = (dump_optimized, dump_schedule, dump_memory, dump_program, dump_kernels)
    flags = (dump_sdg, dump_passes, *later)
    chosen = [view for view, flag in zip(VIEWS, flags, strict=True) if flag]
    if not memory and (bounds or solve is not None or memory_budget is not None):
        refuse("--bounds, --solve and --memory-budget belong to --memory")
    if not chosen and not memory and dump_after is None and dump_dir is None:
        chosen = ["schedule", "memory"]
    texts = [(stage, stage_text(compilation, stage)) for stage in chosen]
    for number, (stage, text) in enumerate(texts):
        if len(chosen) > 1:
            click.echo(("\n" if number else "") + f"# {stage}")
        click.echo(text, nl=False)
    if memory:
        click.echo("\n" if chosen else "", nl=False)
        from tempoc.cli.memory_report import echo_memory

        echo_memory(compilation, bounds, solve, memory_budget)
    write_dumps(compilation, dump_after, dump_dir)
    if remarks:
        echo_remarks(compilation, error_format)
    if stats:
        echo_counts(compilation)
    if timing:
        echo_timing(compilation)
