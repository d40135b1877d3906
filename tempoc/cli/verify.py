"""`run --verify`: the compiled program against the reference evaluator."""

from collections.abc import Sequence

import click

from tempoc.cli.errors import outputs_differ
from tempoc.cli.report import CheckFailed
from tempoc.driver.compilation import Compilation
from tempoc.driver.reference import evaluate_given
from tempoc.runtime.bindings import Given
from tempoc.runtime.compare import differences
from tempoc.runtime.run import RunResult


def compare_with_reference(
    compilation: Compilation, given: Given, result: RunResult, paths: Sequence[str]
) -> int:
    """Evaluate with NumPy and compare. Raises `CheckFailed` where the outputs differ."""
    expected = evaluate_given(compilation.graph, given, paths, compilation.loaded.beside)
    if found := differences(result.outputs, expected):
        raise CheckFailed(outputs_differ(found))
    click.echo("verify: all outputs agree with the reference evaluator", err=True)
    return 0
