"""`tempoc run`: a compiled directory, or a program compiled on the spot."""

import tempfile
from dataclasses import replace
from pathlib import Path

import click

from tempoc.cli.options import (
    define_option,
    error_format_option,
    options_from,
    refuse,
    run_options,
)
from tempoc.cli.verify import compare_with_reference
from tempoc.driver.compilation import Compilation
from tempoc.runtime.execute import RunOptions, execute, parse_bounds


@click.command("run")
@click.argument("program")
@run_options
@define_option
@click.option("--stats", is_flag=True, help="Say on standard error what the run took.")
@click.option("--profile", metavar="FILE", help="Write a Chrome trace of all kernel calls.")
@click.option(
    "--verify", is_flag=True, help="Compare with the reference evaluator (exit status 3)."
)
@error_format_option
def command(
    program: str,
    bounds: tuple[str, ...],
    inputs: tuple[str, ...],
    params: str | None,
    cast_params: bool,
    seed: int,
    output_dir: str | None,
    output: str | None,
    extern_path: tuple[str, ...],
    defines: tuple[str, ...],
    stats: bool,
    profile: str | None,
    verify: bool,
    error_format: str,
) -> int:
    """Run PROGRAM, a directory made by `tempoc compile` (or a .rt file, compiled on the spot)."""
    wanted = RunOptions(
        directory=program,
        bounds=parse_bounds(bounds, refuse),
        input=inputs,
        params=() if params is None else (params,),
        cast_params=cast_params,
        seed=seed,
        output_dir=output_dir,
        output=output,
        stats=stats,
        profile=profile,
        extern_path=extern_path,
    )
    if Path(program).is_dir() or not (program == "-" or program.endswith(".rt")):
        if defines:
            refuse("-D belongs to tempoc compile: this program is already compiled")
        return _run(wanted, None, verify)
    compilation = Compilation.from_path(program, options_from(defines))
    with tempfile.TemporaryDirectory(prefix="tempoc-") as folder:
        directory = str(Path(folder, "out"))
        compilation.write(directory)
        return _run(replace(wanted, directory=directory), compilation, verify)


def _run(wanted: RunOptions, compilation: Compilation | None, verify: bool) -> int:
    given, result = execute(wanted)
    if not verify:
        return 0
    if compilation is None:
        compilation = Compilation.from_directory(wanted.directory)
    return compare_with_reference(compilation, given, result, wanted.extern_path)
