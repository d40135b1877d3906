"""`run --verify`: the compiled program against the reference evaluator."""

from collections.abc import Sequence

import click

from tempoc.cli.report import CHECK_FAILED
from tempoc.driver.compilation import Compilation
from tempoc.driver.reference import evaluate_given
from tempoc.runtime.bindings import Given
from tempoc.runtime.compare import differences
from tempoc.runtime.run import RunResult


def compare_with_reference(
    compilation: Compilation, given: Given, result: RunResult, paths: Sequence[str]
) -> int:
    """Evaluate with NumPy and compare; says what differs and returns the exit status."""
    expected = evaluate_given(compilation.graph, given, (*paths, compilation.loaded.folder))
    found = differences(result.outputs, expected)
    for line in found:
        click.echo(f"verify: {line}", err=True)
    if not found:
        click.echo("verify: all outputs agree with the reference evaluator", err=True)
    return CHECK_FAILED if found else 0
