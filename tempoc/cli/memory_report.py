"""The report of `explain --memory`, and the limit of `compile --memory-budget`.

Imports what a run needs: commands import this file late.
"""

import click

from tempoc.cli.options import refuse
from tempoc.driver.caches import caches_text
from tempoc.driver.compilation import Compilation
from tempoc.driver.memory_text import exactly, memory_text
from tempoc.program.nodes import Program
from tempoc.runtime.bounds import resolve
from tempoc.runtime.budget import largest_bound, usual_given
from tempoc.runtime.execute import parse_bounds
from tempoc.runtime.memory_errors import missing_for_memory
from tempoc.runtime.problems import RunError
from tempoc.runtime.rehearsal import forecast


def echo_memory(
    compilation: Compilation, given: tuple[str, ...], solve: str | None, budget: int | None
) -> None:
    """Print the report about a program."""
    _echo_peak(compilation.emitted.program, given, solve, budget)
    if found := caches_text(compilation):
        click.echo(f"\n{found}", nl=False)


def _echo_peak(
    program: Program, given: tuple[str, ...], solve: str | None, budget: int | None
) -> None:
    """The formula, with numbers where bounds are given, or the largest bound that fits."""
    bounds: dict[str, object] = {**parse_bounds(given, refuse)}
    free = [b.name for b in program.bounds if b.value is None]
    if solve is not None:
        if budget is None:
            refuse("--solve wants a --memory-budget")
        if solve in bounds:
            refuse(f"--solve {solve}: --bounds has a value for it")
        # The name must be right; its value is what is looked for.
        bounds[solve] = 1
    elif budget is not None:
        refuse("--memory-budget wants --solve here; with compile or run it is a limit")
    missing = [name for name in free if name not in bounds]
    if bounds and missing:
        raise RunError(missing_for_memory(missing))
    if solve is None:
        values = _values(program, bounds) if bounds or not free else None
        click.echo(memory_text(program, values), nl=False)
        return
    others = _others(program, bounds, solve)
    stores = usual_given(program)
    found = largest_bound(program, others, solve, stores, budget or 0)
    values = _values(program, {**bounds, solve: found})
    click.echo(memory_text(program, values))
    size = forecast(program, values, stores).peak
    click.echo(f"largest {solve}  {found}, with {exactly(size)} of {exactly(budget or 0)}")


def _values(program: Program, bounds: dict[str, object]) -> dict[str, int]:
    """All bounds. Raises `RunError`."""
    found = resolve(program, bounds, (), {})
    if found.problems:
        raise RunError(*found.problems)
    return found.values


def _others(program: Program, bounds: dict[str, object], solve: str) -> dict[str, int]:
    """The bounds beside the one that is looked for, whose value no assumption may judge yet."""
    found = resolve(program, bounds, (), {})
    wrong = [p for p in found.problems if p.code not in ("RT515", "RT516")]
    if wrong:
        raise RunError(*wrong)
    return found.values
