"""Budgets: what a run would take, whether that fits, and the largest bound that does."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.program.bounds import BUDGET
from tempoc.program.nodes import Program
from tempoc.runtime.bounds import LIMIT, resolve
from tempoc.runtime.memory_errors import no_value, nothing_fits, over_budget
from tempoc.runtime.problems import RunError
from tempoc.runtime.progress import count_calls
from tempoc.runtime.rehearsal import forecast

PATIENCE = 20_000
"""With more calls of kernels nobody looks for the largest bounds of a program that moves cells."""


def usual_given(program: Program) -> frozenset[str]:
    """The stores that are filled before a run which computes all params that it can."""
    found = [i.store for i in program.inputs]
    found += [p.store for p in program.params if not p.has_default]
    return frozenset(found + ([program.seed] if program.seed else []))


def check_budget(
    program: Program, bounds: Mapping[str, int], given: frozenset[str], budget: int | None
) -> None:
    """Raises ``RunError`` if the stores of a run take more than that, or than compiled for."""
    if budget is None:
        kept = dict(program.provenance).get(BUDGET)
        if kept is None or not kept.isdigit():
            return
        budget = int(kept)
    needed = forecast(program, bounds, given).peak
    if needed <= budget:
        return
    largest: dict[str, int] = {}
    moves = any(store.away for store in program.stores)
    # Where cells move, a forecast takes all steps.
    patient = not moves or count_calls(program.tree, dict(bounds)) <= PATIENCE
    for name in [b.name for b in program.bounds if b.value is None and patient]:
        try:
            largest[name] = largest_bound(program, bounds, name, given, budget, bounds[name])
        except RunError:
            continue
    raise RunError(over_budget(needed, budget, largest))


def check_least(program: Program, budget: int) -> None:
    """Raises ``RunError`` if not even a run with the smallest bounds keeps to a budget."""
    free = [b.name for b in program.bounds if b.value is None]
    found = resolve(program, dict.fromkeys(free, 1), (), {})
    if not found.problems:
        check_budget(program, found.values, usual_given(program), budget)


def largest_bound(
    program: Program,
    bounds: Mapping[str, int],
    name: str,
    given: frozenset[str],
    budget: int,
    below: int = LIMIT,
) -> int:
    """The largest value of a bound with which a run fits, all others as they are.

    Raises ``RunError`` if none does. What a run takes is taken to rise with the bound. Only values
    ``below`` one are looked at.
    """
    search = _Search(program, bounds, name, given)
    least = search.least()
    if least is None or least >= below:
        raise RunError(no_value(name))
    needed = search.needed(least) or 0
    if needed > budget:
        raise RunError(nothing_fits(name, least, needed, budget))
    fits, step = least, 1
    while (following := min(fits + step, below - 1)) > fits and search.fits(following, budget):
        fits, step = following, 2 * step
    over = min(fits + step, below)
    while over - fits > 1:
        middle = (fits + over) // 2
        if search.fits(middle, budget):
            fits = middle
        else:
            over = middle
    return fits


class _Search:
    """What runs take, by the value of one bound."""

    def __init__(
        self, program: Program, bounds: Mapping[str, int], name: str, given: frozenset[str]
    ) -> None:
        self.program = program
        self.name = name
        self.given = given
        free = [b.name for b in program.bounds if b.value is None]
        self.bounds = {n: bounds[n] for n in free if n != name}

    def allowed(self, value: int) -> dict[str, int] | None:
        """All bounds, if that value keeps to the assumptions."""
        found = resolve(self.program, self.bounds | {self.name: value}, (), {})
        return None if found.problems else found.values

    def needed(self, value: int) -> int | None:
        """The bytes of a run; ``None`` if that value is not allowed."""
        bounds = self.allowed(value)
        return None if bounds is None else forecast(self.program, bounds, self.given).peak

    def fits(self, value: int, budget: int) -> bool:
        """Whether a run takes no more."""
        needed = self.needed(value)
        return needed is not None and needed <= budget

    def least(self) -> int | None:
        """The smallest value that is allowed."""
        found = next((1 << k for k in range(31) if self.allowed(1 << k) is not None), None)
        if found is None:
            return None
        low = found // 2
        while found - low > 1:
            middle = (low + found) // 2
            if self.allowed(middle) is None:
                low = middle
            else:
                found = middle
        return found
