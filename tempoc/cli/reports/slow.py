"""The report of `explain --slow`. Imports what a run needs, and sympy: commands import it late."""

from tempoc.cli.reports.cost import values_of
from tempoc.cli.reports.terminal import echo, show
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.slow import slow_report, slow_text


def echo_slow(compilation: Compilation, given: tuple[str, ...], *, after: bool) -> None:
    """Print what costs most, and why. Raises `RunError` for bounds that are missing or wrong."""
    values = values_of(compilation, given)
    if after:
        echo()
    show(slow_text(slow_report(compilation, values)))
