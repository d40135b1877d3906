"""`tempoc eval`: the reference evaluator."""

import click

from tempoc.cli.options import (
    define_option,
    error_format_option,
    options_from,
    refuse,
    run_options,
)
from tempoc.driver.compilation import Compilation
from tempoc.driver.reference import evaluate_given
from tempoc.runtime.effects import Outside
from tempoc.runtime.execute import RunOptions, check_targets, deliver, gather, parse_bounds


@click.command("eval")
@click.argument("file")
@run_options
@define_option
@click.option("--float64", is_flag=True, help="Compute as if every float were f64.")
@error_format_option
def command(
    file: str,
    bounds: tuple[str, ...],
    inputs: tuple[str, ...],
    params: str | None,
    cast_params: bool,
    seed: int,
    output_dir: str | None,
    output: str | None,
    extern_path: tuple[str, ...],
    defines: tuple[str, ...],
    float64: bool,
    error_format: str,
) -> None:
    """Evaluate FILE with NumPy, point by point, without any pass: slow, simple, the truth."""
    options = RunOptions(
        directory=file,
        bounds=parse_bounds(bounds, refuse),
        input=inputs,
        params=() if params is None else (params,),
        cast_params=cast_params,
        seed=seed,
        output_dir=output_dir,
        output=output,
        extern_path=extern_path,
    )
    compilation = Compilation.from_path(file, options_from(defines))
    graph = compilation.graph
    given = gather(options)
    check_targets(options)
    outside = Outside(output_dir or ".")
    deliver(options, evaluate_given(graph, given, float64=float64, show=outside))
