"""The report of `explain --cost`. Imports what a run needs, and sympy: commands import it late."""

from tempoc.cli.options.options import refuse
from tempoc.cli.reports.terminal import echo, show
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.cost import cost_text, program_cost
from tempoc.runtime.data.bounds import bound_values
from tempoc.runtime.options import parse_bounds


def echo_cost(compilation: Compilation, given: tuple[str, ...], *, after: bool) -> None:
    """Print the report about a program, with numbers where bounds are given. Raises `RunError`."""
    values = values_of(compilation, given)
    if after:
        echo()
    show(cost_text(program_cost(compilation), values))


def values_of(compilation: Compilation, given: tuple[str, ...]) -> dict[str, int] | None:
    """The values of all bounds; ``None`` if none are given but needed. Raises `RunError`."""
    program = compilation.emitted.program
    bounds: dict[str, object] = {**parse_bounds(given, refuse)}
    free = any(b.value is None for b in program.bounds)
    return bound_values(program, bounds) if bounds or not free else None
