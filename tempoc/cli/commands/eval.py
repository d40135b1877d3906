"""`tempoc eval`: the reference evaluator."""

from typing import Any

import click

from tempoc.cli.options import options
from tempoc.cli.options.compile_options import parse_defines, parse_limits
from tempoc.cli.reports.terminal import echo_notes
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import evaluate_given, saves
from tempoc.runtime.execute import check_targets, deliver, effect_sink, open_inputs
from tempoc.runtime.options import run_options
from tempoc.runtime.report.streams import streams_kept


@click.command("eval")
@click.argument("file", type=options.FileName())
@options.declared(*options.RUN_DATA)
@options.constant_options
@options.limit_option
@click.option("--float64", is_flag=True, help="Compute as if every float were f64.")
@options.error_format_option
def command(
    file: str,
    defines: tuple[str, ...],
    config: str | None,
    limits: tuple[str, ...],
    float64: bool,
    error_format: str,
    **given: Any,
) -> None:
    """Evaluate FILE with NumPy, point by point, without any pass: slow, simple, the truth."""
    request = run_options(file, given, options.refuse)
    chosen = Options(defines=parse_defines(defines), config=config, limits=parse_limits(limits))
    compilation = Compilation.from_path(file, chosen)
    echo_notes(compilation.notes, error_format)
    graph = compilation.graph
    data = open_inputs(request)
    check_targets(request, saves(graph))
    paths = request.extern_path, compilation.loaded.beside
    show = effect_sink(request)
    with streams_kept():
        outputs = evaluate_given(graph, data, *paths, float64=float64, show=show)
    deliver(request, outputs)
