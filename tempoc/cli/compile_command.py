"""`tempoc compile`: from a program to a directory that runs by itself."""

from dataclasses import replace
from pathlib import Path

import click

from tempoc.cli.memory import budget_option
from tempoc.cli.options import FileName, compile_options, dump_options, options_from
from tempoc.cli.show import echo_about, write_dumps
from tempoc.driver.compilation import Compilation


@click.command("compile")
@click.argument("file", type=FileName())
@click.option(
    "-o", "--out", type=FileName(), required=True, metavar="DIR", help="The directory to make."
)
@compile_options
@budget_option
@dump_options
def command(
    file: str,
    out: str,
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
    memory_budget: int | None,
    dump_after: str | None,
    dump_dir: Path | None,
) -> None:
    """Compile FILE (`-` reads standard input) into a directory for `tempoc run` or `python`."""
    options = options_from(defines, level, passes, verify_each, tile, regions, bucket)
    options = replace(options, memory_budget=memory_budget)
    compilation = Compilation.from_path(file, options)
    write_dumps(compilation, dump_after, dump_dir)
    if memory_budget is not None:
        from tempoc.runtime.budget import check_least

        check_least(compilation.emitted.program, memory_budget)
    compilation.write(out)
    echo_about(compilation, error_format, remarks=remarks, stats=stats, timing=timing)
