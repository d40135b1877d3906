"""Compiles for a budget: as long as the stores of a run would take more, in other ways.

What needs no more than the budget is left as it is. Otherwise these ways are looked at:

- *again*: values are made again instead of kept (``passes/memory/rematerialize.py``), such as cost
little, or
  all, which costs operations on numbers;
- *tiles*: tensors above a limit are computed tile by tile (``passes/tiling/tile.py``), and the
limit is
  lowered until the forecast fits. Tiles are loops, which cost calls of kernels: so the limit is not
  lowered further than it has to be, within a factor of two;
- *away*: what is not needed for a while lives with the host (``offload/choose.py``), which costs
  copies: in the program as it is; then with all loops run by the host, which can move cells between
  their steps, and inputs and outputs in an array for each point; then with large points computed
  one after the other where a loop runs (``passes/memory/serialize.py``), so that nobody reads all
  of them; then in the smallest tiles; at last with one point of everything at a time (``-O1``).

Tiles are also tried together with values made again, where neither is enough. Of what fits the
cheapest is taken, as far as calls, copies and operations tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import RECOMPUTE
from tempoc.offload.choose import choose, copied
from tempoc.passes.analysis.cost import operations
from tempoc.passes.memory.rematerialize import waits
from tempoc.passes.tiling.tile import Tile
from tempoc.program.nodes.nodes import Program
from tempoc.runtime.data.bounds import resolve
from tempoc.runtime.forecast.budget import PlannedRun, budget_problem
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.messages.problem import RunError
from tempoc.runtime.messages.units import size_text
from tempoc.runtime.report.progress import count_calls

LEAST, TIMES = 1024, 4
"""Tensors of so few bytes are not worth a loop; from variant to variant that is so many times less.

The limits that are tried do not depend on the budget: what keeps to one is found for a larger one.
"""
FAR = 2
"""Tiles of what size ever do not help where those of two sizes take so many times the budget."""
MOST = 100_000
"""With more calls of kernels it is not looked at what could live with the host between them."""
PER_CALL, PER_BYTE, PER_OPERATION = 30_000, 0.1, 0.02
"""Nanoseconds that a call of a kernel takes at least, the copy of a byte, and an operation."""
WORDS = {"cheap": "values that cost little made again", "all": "values made again"}
"""What is said of values that are not kept."""

FilledStores = Callable[[Program], frozenset[str]]
"""Which stores are filled before a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetVariant:
    """A way to compile, the most bytes that stores then have, and how often kernels are called.

    ``away`` are the most bytes that the host has of stores that live there, ``copied`` those that
    go to the device or come from there. ``operations``: about how many there are on numbers.
    """

    compilation: Compilation
    peak: int
    calls: int
    operations: int
    away: int = 0
    copied: int = 0

    @property
    def limit(self) -> int:
        """Tensors that take more bytes are made in tiles; 0: none are."""
        return self.compilation.options.limit or 0

    @property
    def cost(self) -> float:
        """What tells variants apart, in nanoseconds."""
        copies = PER_BYTE * self.copied
        return PER_CALL * self.calls + copies + PER_OPERATION * self.operations

    def more(self, other: BudgetVariant) -> str:
        """How many more operations it has than another."""
        return f"{100 * (self.operations - other.operations) / max(1, other.operations):.0f}%"

    def about(self) -> str:
        """What is different, in words."""
        options = self.compilation.options
        parts = [] if options.recompute is None else [WORDS[options.recompute]]
        if options.limit is not None:
            parts.append(about_tiles(options.limit))
        if options.away:
            names = [f"`{name}`" for name in options.away]
            some = ", ".join(names[:_SHOWN]) + f" and {len(names) - _SHOWN} more"
            named = some if len(names) > _SHOWN + 1 else ", ".join(names)
            parts.append(f"{named} with the host between uses")
        if options.apart:
            parts.append("loops run by the host" + " point by point" * (options.level < 2))
        if options.walk:
            parts.append("large points one after the other")
        return ", ".join(parts) or "as it is"


_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The variants that were looked at, the last of which fits."""

    budget: int
    variants: tuple[BudgetVariant, ...]

    @property
    def chosen(self) -> BudgetVariant:
        """The variant that fits."""
        return self.variants[-1]

    def note(self) -> str:
        """What was chosen and what it costs, as one line; empty if nothing had to be."""
        first, last = self.variants[0], self.variants[-1]
        if last is first:
            return ""
        more = ""
        if last.compilation.options.recompute is not None:
            more = f", {last.more(first)} more operations"
        copies = f", {size_text(last.copied)} copied to and from the host" if last.copied else ""
        return (
            f"note: {last.about()}, to keep to {size_text(self.budget)}: at most "
            f"{size_text(last.peak)} in stores instead of {size_text(first.peak)}, "
            f"{last.calls} calls of kernels instead of {first.calls}{more}{copies}\n"
        )


def about_tiles(limit: int) -> str:
    """Tiles by a limit, in words."""
    return f"tiles of what takes more than {size_text(limit)}"


def fit(
    compilation: Compilation,
    bounds: Mapping[str, int],
    filled: FilledStores,
    budget: int,
    *,
    exact: bool = True,
) -> Fit:
    """The cheapest variant whose run with these bounds keeps to the budget.

    Raises ``RunError`` if none does, with the smallest budget for which one is found. To be
    ``exact`` all there are have to be looked at; else the smallest that was seen is named.
    """
    search = _BudgetSearch(bounds=bounds, given=filled, budget=budget, exact=exact)
    fitting = search.run(compilation)
    if fitting is not None:
        rejected = (v for v in search.measured if v is not fitting)
        return Fit(budget=budget, variants=(*rejected, fitting))
    program = min(search.measured, key=lambda v: v.peak).compilation.emitted.program
    run = PlannedRun(program, _values(program, bounds), filled(program))
    raise RunError(budget_problem([run], budget, searched=True))


@dataclass(slots=True, kw_only=True)
class _BudgetSearch:
    """Looks at variants of a program; ``found`` are all of them.

    Others are ``skipped`` at first, and looked at if nothing else fits and it is to be ``exact``:
    then which ones there are does not depend on the budget, so that none refuses what a smaller one
    does not.
    """

    bounds: Mapping[str, int]
    given: FilledStores
    budget: int
    exact: bool
    measured: list[BudgetVariant] = field(default_factory=list)
    skipped: list[Compilation] = field(default_factory=list)

    def run(self, compilation: Compilation) -> BudgetVariant | None:
        """The cheapest one that fits."""
        original = self.measure(compilation)
        if original.peak <= self.budget:
            return original
        recomputed = self.recomputing(compilation)
        limits = _limits(compilation, original.peak)
        tiles = [compilation, *self.tiled(compilation, limits)]
        fitting = [v for v in self.measured if v.peak <= self.budget]
        fitting += self.offloading(compilation)
        if recomputed and not fitting:
            tiles += self.tiled(recomputed[-1], limits)
            fitting += [v for v in self.measured if v.peak <= self.budget]
        for variant in self.by_host(compilation, tiles[-1]):
            if fitting:
                break
            fitting += self.offloading(variant)
        if self.exact and not fitting:
            fitting += [v for v in self.measure_skipped() if v.peak <= self.budget]
        return min(fitting, key=lambda v: (v.cost, -v.limit), default=None)

    def recomputing(self, compilation: Compilation) -> list[Compilation]:
        """Variants that make values again instead of keeping them."""
        options = replace(compilation.options, sizes=dict(self.bounds))
        variants = []
        for work in RECOMPUTE if options.recompute is None else ():
            variant = compilation.variant(replace(options, recompute=work))
            if waits(variant.passes.graph):
                self.measure(variant)
                variants.append(variant)
        return variants

    def tiled(self, compilation: Compilation, limits: Sequence[int]) -> list[Compilation]:
        """Variants with smaller and smaller tiles until one fits; no two are alike.

        Limits above the budget are skipped, and so are those between the largest and the smallest
        where these are ``FAR`` too large.
        """
        by_limit: dict[int, BudgetVariant] = {}
        small = [limit for limit in limits if limit <= self.budget] or [*limits[-1:]]
        for limit in dict.fromkeys((*small[:1], *small[-1:], *small, *limits)):
            variant = self.limited(compilation, limit)
            least = min((v.peak for v in by_limit.values()), default=0)
            if limit not in small or (len(by_limit) > 1 and least > FAR * self.budget):
                self.skipped.append(variant)
                continue
            if variant.passes.graph == compilation.passes.graph:
                continue
            alike = (k for k, v in by_limit.items() if _is_alike(v.compilation, variant))
            same = next(alike, 0)
            by_limit[limit] = (
                self.relabelled(by_limit[same], limit) if same else self.measure(variant)
            )
            if by_limit[limit].peak <= self.budget and limit > limits[-1]:
                break
        fitting = [limit for limit, v in by_limit.items() if v.peak <= self.budget]
        if fitting:
            self.measure(self.limited(compilation, 2 * max(fitting)))
        return [by_limit[limit].compilation for limit in sorted(by_limit, reverse=True)]

    def measure_skipped(self) -> Iterator[BudgetVariant]:
        """What was skipped, and is not like another one."""
        seen = [v.compilation for v in self.measured if not v.compilation.options.apart]
        for variant in self.skipped:
            if not any(_is_alike(variant, other) for other in seen):
                seen.append(variant)
                yield self.measure(variant)

    def relabelled(self, variant: BudgetVariant, limit: int) -> BudgetVariant:
        """A variant that is the same with a larger limit, which says more of it."""
        compilation = copy(variant.compilation)
        compilation.options = replace(compilation.options, limit=limit)
        relabelled = replace(variant, compilation=compilation)
        self.measured = [relabelled if v is variant else v for v in self.measured]
        return relabelled

    def limited(self, compilation: Compilation, limit: int) -> Compilation:
        """The same with tiles of what takes more bytes."""
        options = replace(compilation.options, limit=limit, sizes=dict(self.bounds))
        return compilation.variant(options)

    def by_host(self, compilation: Compilation, smallest: Compilation) -> Iterator[Compilation]:
        """The same with all loops run by the host, and inputs in pieces, in several ways."""
        options = replace(compilation.options, regions=False, bucket=0, apart=True)
        sized = replace(options, sizes=dict(self.bounds))
        deep = options.level > 1 and options.passes is None
        yield compilation.variant(options)
        if deep:
            yield compilation.variant(replace(sized, walk=True))
        if smallest is not compilation:
            limit, recompute = smallest.options.limit, smallest.options.recompute
            yield compilation.variant(replace(sized, limit=limit, recompute=recompute))
        if deep:
            yield compilation.variant(replace(options, level=1))

    def offloading(self, compilation: Compilation) -> list[BudgetVariant]:
        """The same, with stores that live with the host where it has to be, if that fits."""
        program = compilation.emitted.program
        values, filled = _values(program, self.bounds), self.given(program)
        if count_calls(program.tree, values) > MOST:
            return self.unchanged(compilation)
        choice = choose(program, values, filled, self.budget)
        if not choice.reach:  # nothing has to go, nothing can, or nothing helps
            return self.unchanged(compilation)
        fits = choice.needed <= self.budget
        moved = copied(choice, values, filled) if fits else 0
        variant = self.measure(compilation.with_away(choice.reach, choice.ahead), moved)
        return [variant] if fits else []

    def unchanged(self, compilation: Compilation) -> list[BudgetVariant]:
        """The same, if that fits."""
        if any(v.compilation is compilation for v in self.measured):
            return []
        variant = self.measure(compilation)
        return [variant] if variant.peak <= self.budget else []

    def measure(self, compilation: Compilation, moved: int = 0) -> BudgetVariant:
        """What a run of a program takes."""
        program = compilation.emitted.program
        values = _values(program, self.bounds)
        prediction = forecast(program, values, self.given(program))
        variant = BudgetVariant(
            compilation=compilation,
            peak=prediction.peak,
            calls=count_calls(program.tree, values),
            operations=operations(compilation.optimized, values),
            away=prediction.away,
            copied=moved,
        )
        self.measured.append(variant)
        return variant


def _limits(compilation: Compilation, peak: int) -> list[int]:
    """The limits there are, the largest first; none if the program gets no tiles by limits."""
    limits = [LEAST]
    while limits[-1] * TIMES <= peak:
        limits.append(limits[-1] * TIMES)
    tiled = any(isinstance(s, Tile) for s in compilation.steps)
    return limits[::-1] if tiled and compilation.options.tile is None else []


def _is_alike(a: Compilation, b: Compilation) -> bool:
    return a.passes.graph == b.passes.graph


def _values(program: Program, bounds: Mapping[str, int]) -> dict[str, int]:
    """All bounds of a program. Raises ``RunError``."""
    resolved = resolve(program, bounds, (), {})
    if resolved.problems:
        raise RunError(*resolved.problems)
    return resolved.values
