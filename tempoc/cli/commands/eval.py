"""`tempoc eval`: the reference evaluator."""

from typing import Any

import click

from tempoc.cli.options.options import FileName, define_option, error_format_option, options_from
from tempoc.cli.options.run_options import run_options, run_options_from
from tempoc.driver.compilation import Compilation
from tempoc.driver.reference import evaluate_given, saves
from tempoc.runtime.execute import check_targets, deliver, effect_sink, open_inputs


@click.command("eval")
@click.argument("file", type=FileName())
@run_options
@define_option
@click.option("--float64", is_flag=True, help="Compute as if every float were f64.")
@error_format_option
def command(
    file: str, defines: tuple[str, ...], float64: bool, error_format: str, **given: Any
) -> None:
    """Evaluate FILE with NumPy, point by point, without any pass: slow, simple, the truth."""
    wanted = run_options_from(file, given)
    compilation = Compilation.from_path(file, options_from(defines))
    graph = compilation.graph
    data = open_inputs(wanted)
    check_targets(wanted, saves(graph))
    paths = wanted.extern_path, compilation.loaded.beside
    show = effect_sink(wanted)
    deliver(wanted, evaluate_given(graph, data, *paths, float64=float64, show=show))
