"""The report of `explain --memory`, and the limit of `compile --memory-budget`.

Imports what a run needs: commands import this file late.
"""

from collections.abc import Collection, Mapping

from tempoc.cli.options.options import refuse
from tempoc.cli.reports.terminal import echo, show, waiting
from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.caches import caches_text
from tempoc.driver.report.memory import exactly, fit_text, memory_text, proof_text
from tempoc.driver.search.budget import BudgetFit, fit_budget
from tempoc.driver.search.candidates import device_row
from tempoc.driver.search.device_budget import fit_device
from tempoc.driver.search.variants import BoundReach, Family, open_variant_family, variant_family
from tempoc.footprint.peak import peak
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.variants import Variant
from tempoc.runtime.data.bindings import bind
from tempoc.runtime.data.bounds import bound_values, resolve
from tempoc.runtime.device import available
from tempoc.runtime.device.stores import given_stores
from tempoc.runtime.execute import open_inputs
from tempoc.runtime.forecast.budget import largest_bound
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.messages.units import INTEGER
from tempoc.runtime.options import RunOptions, parse_bounds
from tempoc.symbolic.walk import symbols


def echo_memory(
    compilation: Compilation, given: tuple[str, ...], solve: str | None, budget: int | None
) -> None:
    """Print the report about a program."""
    compilation = _echo_peak(compilation, given, solve, budget)
    if caches := caches_text(compilation):
        show(f"\n{caches}")
    show(f"\n{proof_text(compilation.proof)}")


def within_budget(
    compilation: Compilation, given: tuple[str, ...], budget: int | None
) -> dict[Variant, Compilation]:
    """The programs that keep to a budget in the ranges of bounds given; a single one for values.

    Without bounds all of them rise together, as far as something is found; without a budget it is
    what the device has. Raises `RunError`.
    """
    memory = available.device_memory() if budget is None else budget
    if memory is None:
        refuse("--bounds needs --memory-budget: this device does not say how much memory it has")
    least, most = _ends(parse_bounds(given, refuse))
    program = compilation.emitted.program
    free = [b.name for b in program.bounds if b.value is None]
    if not least:
        return _announce_family(open_variant_family(compilation, default_filled_stores, memory))
    low, high = bound_values(program, least), bound_values(program, most)
    if least == most:
        fit = fit_device if budget is None else fit_budget
        at = {n: low[n] for n in free}
        fitting = _announce_fit(fit(compilation, at, default_filled_stores, memory))
        return {Variant(name="", about=""): fitting}
    reach = BoundReach(least={n: low[n] for n in free}, most={n: high[n] for n in free})
    return _announce_family(variant_family(compilation, reach, default_filled_stores, memory))


def _ends(bounds: Mapping[str, str]) -> tuple[dict[str, object], dict[str, object]]:
    """The smallest and the largest bounds of ranges (`T=1024..65536`); values are both."""
    least: dict[str, object] = {}
    most: dict[str, object] = {}
    for name, value in bounds.items():
        low, dots, high = value.partition("..")
        least[name], most[name] = low, high if dots else low
        if dots and not (low and high):
            refuse(f"--bounds {name}={value}: a range has two ends, such as 1..4096")
        numbers = [int(end) for end in (low, high) if INTEGER.fullmatch(end)]
        if dots and len(numbers) == 2 and numbers[0] > numbers[1]:
            refuse(f"--bounds {name}={value}: a range begins with the smaller number")
    return least, most


def _announce_family(variants: Family) -> dict[Variant, Compilation]:
    echo(variants.note(), err=True, nl=False)
    return {**variants.members}


def within_budget_of_run(
    compilation: Compilation, request: RunOptions, budget: int | None
) -> Compilation:
    """The program for the bounds and data of a run, by default on this device.

    Raises `RunError`.
    """
    memory = available.device_memory() if budget is None else budget
    if memory is None:
        return compilation
    program = compilation.emitted.program
    bindings = bind(program, open_inputs(request))
    fit = fit_device if budget is None else fit_budget
    values = {b.name: bindings.bounds[b.name] for b in program.bounds if b.value is None}
    return _announce_fit(
        fit(compilation, values, lambda p: given_stores(p, bindings), memory, model=device_row())
    )


def _announce_fit(fitting: BudgetFit) -> Compilation:
    echo(fitting.note(), err=True, nl=False)
    return fitting.chosen.compilation


def _echo_peak(
    compilation: Compilation, given: tuple[str, ...], solve: str | None, budget: int | None
) -> Compilation:
    """The formula, with numbers where bounds are given, or the largest bound that fits.

    Returns the program that it is about.
    """
    program = compilation.emitted.program
    bounds: dict[str, object] = {**parse_bounds(given, refuse)}
    free = [b.name for b in program.bounds if b.value is None]
    if solve is not None:
        if budget is None:
            refuse("--solve wants a --memory-budget")
        if solve in bounds:
            refuse(f"--solve {solve}: --bounds has a value for it")
        # The name must be right; its value is what is looked for.
        bounds[solve] = 1
        if solve not in free:
            bound_values(program, bounds)
    missing = [name for name in free if name not in bounds]
    if solve is None and budget is not None and missing and not bounds:
        refuse("--memory-budget wants --bounds or --solve here; with compile or run it is a limit")
    if solve is None and budget is not None:
        at = {name: bound_values(program, bounds)[name] for name in free}
        with waiting("searching within the budget", compilation.progress):
            fitting = fit_budget(compilation, at, default_filled_stores, budget)
        show(fit_text(fitting) + "\n")
        compilation = fitting.chosen.compilation
        program = compilation.emitted.program
    if solve is None:
        values = bound_values(program, bounds) if bounds or not free else None
        show(memory_text(program, values))
        return compilation
    others = _others(program, bounds)
    stores = default_filled_stores(program)
    largest = largest_bound(program, others, solve, stores, budget or 0)
    values = bound_values(program, {**bounds, solve: largest})
    show(memory_text(program, values) + "\n")
    size = forecast(program, values, stores).peak
    show(f"largest {solve}  {largest}, with {exactly(size)} of {exactly(budget or 0)}\n")
    if formula := _inverse(program, stores, solve):
        show(f"  = {formula}\n")
    return compilation


def _inverse(program: prog.Program, stores: Collection[str], name: str) -> str | None:
    """The largest value of a bound as a formula of the budget, where there is one.

    sympy takes half a second to come.
    """
    from tempoc.symbolic.simplify import inverse

    formula = peak(program, stores).formula
    bounds = {b.name for b in program.bounds}
    return inverse(formula, name) if bounds.issuperset(symbols(formula)) else None


def _others(program: prog.Program, bounds: dict[str, object]) -> dict[str, int]:
    """The bounds beside the one that is looked for, whose value no assumption may judge yet."""
    resolution = resolve(program, bounds, (), {})
    wrong = [p for p in resolution.problems if p.code not in ("RT515", "RT516")]
    if wrong:
        raise RunError(*wrong)
    return resolution.values
