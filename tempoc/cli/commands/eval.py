"""`tempoc eval`: the reference evaluator."""

from typing import Any

import click

from tempoc.cli.options import options
from tempoc.cli.options.checks import check_option, parse_checks
from tempoc.cli.options.compile_options import with_constants
from tempoc.cli.reports.terminal import echo_notes
from tempoc.cli.reports.verify import failing_checks, report_passed
from tempoc.codegen.program.signature import signature
from tempoc.driver.compilation import Compilation
from tempoc.driver.reference import evaluate_given, saves
from tempoc.runtime.execute import check_targets, deliver, effect_sink, open_inputs
from tempoc.runtime.options import run_options
from tempoc.runtime.report.streams import streams_kept
from tempoc.runtime.run import report_params


@click.command("eval")
@click.argument("file", type=options.FileName())
@options.declared(*options.RUN_DATA)
@options.constant_options
@options.limit_option
@click.option("--float64", is_flag=True, help="Compute as if every float were f64.")
@check_option
@options.error_format_option
def command(
    file: str,
    defines: tuple[str, ...],
    config: str | None,
    limits: tuple[str, ...],
    float64: bool,
    checks: str,
    error_format: str,
    **given: Any,
) -> None:
    """Evaluate FILE with NumPy, point by point, without any pass: slow, simple, the truth."""
    request = run_options(file, given, options.refuse)
    looked_for = parse_checks(checks)
    chosen = with_constants(defines, config, limits)
    compilation = Compilation.from_path(file, chosen)
    echo_notes(compilation.configuration.notes(), error_format)
    graph = compilation.graph
    data = open_inputs(request)
    check_targets(request, saves(graph))
    report_params(signature(graph), data)
    paths = request.extern_path, compilation.loaded.beside
    show = effect_sink(request)
    with streams_kept(), failing_checks():
        outputs = evaluate_given(graph, data, *paths, float64=float64, show=show, checks=looked_for)
    report_passed(looked_for)
    deliver(request, outputs)
