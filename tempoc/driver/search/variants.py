"""Variants of a program for ranges of bounds, each within the memory budget.

The plain program may fit for the lower part of a range of bounds. The range is covered from below:
a variant is used up to the largest bounds with which it fits; a few times beyond, another variant
is searched for (``budget.py``), until the largest bounds are reached. Several bounds rise together,
each from its smallest value to its largest. Peaks are assumed to rise with them, so a variant that
fits at the end of a range fits everywhere in it.

The runner predicts the peak of a run and takes the first variant that fits
(``runtime/execution/variants.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.search.budget import FilledStores, fit_budget
from tempoc.driver.search.candidates import AS_IT_IS, differences
from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.variants import Variant
from tempoc.runtime.data.bounds import LIMIT, POWERS, bound_values, resolve
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.forecast.least_run import check_least
from tempoc.runtime.messages.units import size_text

FOLDER = "variants"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReach:
    """A range of bounds that rise together from ``least`` to ``most``, led by the steepest."""

    least: Mapping[str, int]
    most: Mapping[str, int]

    @property
    def leader(self) -> str:
        """The bound with the largest ratio; it parametrizes the range."""
        return max(self.least, key=lambda name: self.most[name] / self.least[name])

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest value of the leader."""
        return self.least[self.leader], self.most[self.leader]

    def at(self, value: int) -> dict[str, int]:
        """The values of all bounds for a value of the leader."""
        low, high = self.ends
        part = math.log(value / low) / math.log(high / low) if high > low else 1.0
        bounds = {}
        for name, least in self.least.items():
            most = self.most[name]
            alike = (least, most) == (low, high)
            bounds[name] = value if alike else min(most, round(least * (most / least) ** part))
        return bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All variants within a budget, with their descriptions; the first is the plain program."""

    budget: int
    members: Mapping[Variant, Compilation]

    @property
    def first(self) -> Compilation:
        """The plain program."""
        return next(iter(self.members.values()))

    def note(self) -> str:
        """A line for each variant, if there are several."""
        if len(self.members) < 2:
            return ""
        lines = [f"note: {len(self.members)} variants, to keep to {size_text(self.budget)}:"]
        for variant in self.members:
            most = ", ".join(f"{name} = {value}" for name, value in variant.upto)
            where = f"up to {most}" if most else "with a larger budget"
            lines.append(f"  {where}: {variant.about}")
        return "\n".join(lines) + "\n"


def variant_family(
    compilation: Compilation, reach: BoundReach, filled: FilledStores, budget: int
) -> Family:
    """Variants such that one fits into the budget for all bounds in a range.

    Raises ``RunError`` if none fits at its end, or if an end violates an assumption.
    """
    walk = _RangeWalk(reach, filled, budget)
    for bounds in (reach.least, reach.most):
        bound_values(compilation.emitted.program, bounds)
    low, high = reach.ends
    fits_to = walk.add(compilation)
    even = math.ceil((high / max(low, fits_to)) ** (1 / EFFORT.variants))
    times = max(EFFORT.variant_factor, even)
    while fits_to < high:
        try:
            fits_to = walk.extend(
                compilation, min(high, times * max(low, fits_to)), fits_to, exact=False
            )
        except RunError:  # try the largest bounds, so that an error is about these
            fits_to = walk.extend(compilation, high, high - 1)
    return Family(budget=budget, members=walk.members)


def open_variant_family(compilation: Compilation, filled: FilledStores, budget: int) -> Family:
    """Variants without a given range: all free bounds rise together from 1.

    Beyond the reach of the plain program some variants are searched for. Raises ``RunError``
    if not even the smallest run fits.
    """
    program = compilation.emitted.program
    check_least(program, budget)
    free = [b.name for b in program.bounds if b.value is None]
    if not free:
        return Family(budget=budget, members={Variant(name="", about=AS_IT_IS): compilation})
    ones = dict.fromkeys(free, 1)
    first = _RangeWalk(BoundReach(least=ones, most=dict.fromkeys(free, LIMIT - 1)), filled, budget)
    fits_to = first.add(compilation, climb=True)
    most = min(LIMIT - 1, fits_to * EFFORT.variant_factor**EFFORT.further_variants)
    walk = _RangeWalk(
        BoundReach(least=ones, most=dict.fromkeys(free, most)), filled, budget, first.members
    )
    while 0 < fits_to < most:
        try:
            far = min(most, fits_to * EFFORT.variant_factor)
            fits_to = walk.extend(compilation, far, fits_to, exact=False)
        except RunError:
            break
    return Family(budget=budget, members=walk.members)


class _RangeWalk:
    """Covers a range from below; ``members`` are the variants so far."""

    def __init__(
        self,
        reach: BoundReach,
        filled: FilledStores,
        budget: int,
        members: Mapping[Variant, Compilation] = MappingProxyType({}),
    ) -> None:
        self.reach = reach
        self.given = filled
        self.budget = budget
        self.members = {**members}

    def extend(
        self, compilation: Compilation, value: int, least: int, *, exact: bool = True
    ) -> int:
        """Search for a variant that fits at a value, and add it; returns its reach.

        Raises ``RunError`` if none fits; ``exact`` as in `budget.fit`.
        """
        value = self.allowed(compilation.emitted.program, value, least)
        bounds = self.reach.at(value)
        with compilation.progress.searches():
            chosen = fit_budget(compilation, bounds, self.given, self.budget, exact=exact).chosen
        if chosen.compilation is compilation:
            return value
        return max(value, self.add(chosen.compilation, chosen.about()))

    def add(self, compilation: Compilation, about: str = AS_IT_IS, *, climb: bool = False) -> int:
        """Add a variant; returns its reach, 0 if it does not even fit at the start of the range."""
        program = compilation.emitted.program
        upto = self._upto(program, climb)
        most = tuple(self.reach.at(upto).items()) if upto else ()
        name = self._name(compilation.options) if self.members else ""
        self.members[Variant(name=name, about=about, upto=most)] = compilation
        return upto

    def allowed(self, program: prog.Program, value: int, least: int) -> int:
        """A nearby value that satisfies the assumptions; the end of the range if there is none."""
        for step in EFFORT.rounded_bounds:
            rounded = value // step * step
            if rounded > least and not resolve(program, self.reach.at(rounded), (), {}).problems:
                return rounded
        return self.reach.ends[1]

    def _upto(self, program: prog.Program, climb: bool) -> int:
        """The largest value in the range with which the program fits, by bisection.

        It is approximate where dry runs are slow. To ``climb`` is to search from below, because a
        dry run far beyond would take too long.
        """
        low, high = self.reach.ends
        fits, over = low - 1, high + 1
        tried = iter([low * n for n in POWERS if low * n < high] if climb else [high])
        while over - fits > (
            1 if self._is_quick(program, fits) else 1 + fits // EFFORT.reach_fraction
        ):
            value = next(tried, (fits + over) // 2)
            if value < over and self._fits(program, value):
                fits = value
            else:
                over, tried = min(over, value), iter(())
            if climb and not self._is_quick(program, 2 * fits):
                break
        return fits if fits >= low else 0

    def _fits(self, program: prog.Program, value: int) -> bool:
        values = self._values(program, value)
        return forecast(program, values, self.given(program)).peak <= self.budget

    def _values(self, program: prog.Program, value: int) -> dict[str, int]:
        resolved = resolve(program, self.reach.at(max(value, self.reach.ends[0])), (), {})
        return {b.name: resolved.values.get(b.name, 1) for b in program.bounds}

    def _is_quick(self, program: prog.Program, value: int) -> bool:
        """Whether a dry run is fast."""
        return count_calls(program.tree, self._values(program, value)) <= EFFORT.offloaded_calls

    def _name(self, options: Options) -> str:
        """A unique folder name that describes the variant."""
        names = [variant.name for variant in self.members]
        base = f"{FOLDER}/{'-'.join(d.name for d in differences(options)) or 'other'}"
        name, number = base, 2
        while name in names:
            name, number = f"{base}-{number}", number + 1
        return name
