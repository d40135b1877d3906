"""Memory budgets: whether the predicted peak fits, and the largest bound with which it does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tempoc.diagnostics.diagnostic import Diagnostic, RunError
from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import BUDGET
from tempoc.runtime.data.bounds import LIMIT, POWERS, resolve
from tempoc.runtime.device import available
from tempoc.runtime.device.stores import layouts_of
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.messages.memory import no_value, nothing_fits, over_budget, too_large
from tempoc.runtime.messages.units import size_text


class PlannedRun(NamedTuple):
    """A program with the bounds of a run, and the stores that are filled before it."""

    program: prog.Program
    bounds: Mapping[str, int]
    given: frozenset[str]


def effective_budget(program: prog.Program, budget: int | None = None) -> int | None:
    """The budget of a run: the given one, or that of the compilation."""
    recorded = dict(program.provenance).get(BUDGET, "")
    return int(recorded) if budget is None and recorded.isdigit() else budget


def peak_bytes(program: prog.Program, bounds: Mapping[str, int], given: frozenset[str]) -> int:
    """The predicted peak of the stores of a run, in bytes."""
    return forecast(program, bounds, given).peak


def most_bytes(program: prog.Program, bounds: Mapping[str, int]) -> int:
    """More than the peak can be: the bytes of all cells of all stores on the device."""
    sizes = {dim: bounds.get(bound, 1) for dim, bound in program.dims}
    return sum(
        store.nbytes()
        * math.prod(m or sizes[dim] for dim, m in zip(store.keys, store.moduli, strict=True))
        for store in layouts_of(program, bounds).values()
        if not store.away
    )


def check_budget(
    program: prog.Program, bounds: Mapping[str, int], given: frozenset[str], budget: int | None
) -> None:
    """Raises ``RunError`` if the stores of a run exceed the budget, or that of the compilation.

    Without either, if they are more than the device has.
    """
    limit = effective_budget(program, budget)
    if limit is not None:
        if peak_bytes(program, bounds, given) > limit:
            raise RunError(budget_problem([PlannedRun(program, bounds, given)], limit))
        return
    memory = available.device_memory()
    if memory is not None and most_bytes(program, bounds) > memory:
        peak = peak_bytes(program, bounds, given)
        if peak > memory:
            raise RunError(too_large(size_text(peak), size_text(memory)))


def budget_problem(
    runs: Sequence[PlannedRun], budget: int, *, searched: bool = False
) -> Diagnostic:
    """The problem that no program fits, with the smallest sufficient budget and largest bounds.

    ``searched``: the runs are the smallest that the search for variants could compile.
    """
    largest: dict[str, int] = {}
    for run in runs if all(map(_is_quick, runs)) else ():
        for name in [b.name for b in run.program.bounds if b.value is None]:
            arguments = run.program, run.bounds, name, run.given
            try:
                fitting = largest_bound(*arguments, budget, run.bounds[name])
            except RunError:
                continue
            largest[name] = max(fitting, largest.get(name, 0))
    return over_budget(min(peak_bytes(*run) for run in runs), budget, largest, searched=searched)


def _is_quick(run: PlannedRun) -> bool:
    """Whether a dry run is fast; with offloading it takes all steps."""
    moves = any(store.away for store in run.program.stores)
    calls = count_calls(run.program.tree, dict(run.bounds)) if moves else 0
    return calls <= run.program.tuning.searched_calls


def largest_bound(
    program: prog.Program,
    bounds: Mapping[str, int],
    name: str,
    given: frozenset[str],
    budget: int,
    below: int = LIMIT,
) -> int:
    """The largest value of a bound with which a run fits, all others as they are.

    Raises ``RunError`` if none does. Assumes that the peak rises with the bound. Only values
    ``below`` that one are tried.
    """
    search = _BoundSearch(program, bounds, name, given)
    least = search.least()
    if least is None or least >= below:
        raise RunError(no_value(name))
    smallest = search.peak_at(least) or 0
    if smallest > budget:
        raise RunError(nothing_fits(name, least, smallest, budget))
    fits, step = least, 1
    while (candidate := min(fits + step, below - 1)) > fits and search.fits(candidate, budget):
        fits, step = candidate, 2 * step
    over = min(fits + step, below)
    while over - fits > 1:
        middle = (fits + over) // 2
        if search.fits(middle, budget):
            fits = middle
        else:
            over = middle
    return fits


class _BoundSearch:
    """Predicted peaks by the value of one bound."""

    def __init__(
        self, program: prog.Program, bounds: Mapping[str, int], name: str, given: frozenset[str]
    ) -> None:
        self.program = program
        self.name = name
        self.given = given
        free = [b.name for b in program.bounds if b.value is None]
        self.bounds = {n: bounds[n] for n in free if n != name}

    def allowed(self, value: int) -> dict[str, int] | None:
        """The values of all bounds, if the value satisfies the assumptions."""
        resolved = resolve(self.program, self.bounds | {self.name: value}, (), {})
        return None if resolved.problems else resolved.values

    def peak_at(self, value: int) -> int | None:
        """The peak of a run; ``None`` if the value is not allowed."""
        bounds = self.allowed(value)
        return None if bounds is None else peak_bytes(self.program, bounds, self.given)

    def fits(self, value: int, budget: int) -> bool:
        """Whether a run with that value fits into the budget."""
        peak = self.peak_at(value)
        return peak is not None and peak <= budget

    def least(self) -> int | None:
        """The smallest allowed value."""
        high = next((n for n in POWERS if self.allowed(n) is not None), None)
        if high is None:
            return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if self.allowed(middle) is None:
                low = middle
            else:
                high = middle
        return high
