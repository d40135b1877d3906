"""`run --verify`: the compiled program against the reference evaluator."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tempoc.cli.reports.diagnostics import CheckFailed
from tempoc.cli.reports.errors import outputs_differ
from tempoc.cli.reports.terminal import echo
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.driver.compilation import Compilation
from tempoc.driver.reference import evaluate_given
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.compare import differences
from tempoc.runtime.host.replay import Diverged, ReplayedCalls
from tempoc.runtime.run import RunResult
from tempoc.sdg.graph.errors import RefusedValue


@contextmanager
def failing_checks() -> Iterator[None]:
    """Raises `CheckFailed` for a value that a check of the evaluator refuses."""
    try:
        yield
    except RefusedValue as error:
        raise CheckFailed(*error.diagnostics) from None


def report_passed(checks: Sequence[str]) -> None:
    """Say that nothing was found by some checks, if there are any."""
    if checks:
        echo(f"check: {' and '.join(checks)}: nothing found", err=True)


MOST = 3
"""Calls with other arguments that are shown: what follows the first is mostly its consequence."""


def compare_with_reference(
    compilation: Compilation,
    given: Given,
    result: RunResult,
    paths: Sequence[str],
    *,
    verify: bool,
    checks: Sequence[str],
) -> int:
    """Evaluate with NumPy, check values, and compare the outputs if it is to `verify` them.

    Raises `CheckFailed` for the first value that a check refuses, and for outputs that differ.

    Host functions are not called again: they give what they gave in the run.
    """
    replayed = ReplayedCalls(result.made)
    beside = compilation.loaded.beside
    try:
        expected = evaluate_given(
            compilation.graph,
            given,
            paths,
            beside,
            made=replayed,
            checks=checks,
        )
    except Diverged as error:
        raise CheckFailed(outputs_differ([str(error)])) from None
    except DiagnosticError as error:
        raise CheckFailed(*error.diagnostics) from None
    report_passed(checks)
    if not verify:
        return 0
    calls = [*replayed.differing[:MOST], *replayed.unmade()]
    if lines := [*calls, *differences(result.outputs, expected)]:
        raise CheckFailed(outputs_differ(lines))
    echo("verify: all outputs agree with the reference evaluator", err=True)
    return 0
