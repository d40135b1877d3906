"""The report of `explain --slow`. Imports what a run needs, and sympy: commands import it late."""

from tempoc.cli.reports.cost import values_of
from tempoc.cli.reports.terminal import echo, show, waiting
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.slow import slow_report, slow_text
from tempoc.runtime.run import RunResult


def echo_slow(compilation: Compilation, given: tuple[str, ...], *, after: bool) -> None:
    """Print what costs most, and why. Raises `RunError` for bounds that are missing or wrong."""
    values = values_of(compilation, given)
    if after:
        echo()
    show(slow_text(slow_report(compilation, values)))


def echo_dearest(result: RunResult, compilation: Compilation) -> None:
    """A line after `run --stats`: what costs most by the cost model, and where it is explained."""
    with waiting("estimating the time of each loop", compilation.progress):
        report = slow_report(compilation, dict(result.bounds))
    for part in report.parts[:1]:
        text = f"costs most, as estimated: {part.title} ({part.share:.0%})"
        echo(f"{text}; `tempoc explain --slow` says why", err=True)
