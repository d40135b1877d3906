"""Compiles for a budget: as long as the stores of a run would take more, in other ways.

What needs no more than the budget is left as it is. Otherwise these ways are looked at:

- *again*: values are made again instead of kept (``passes/recompute.py``), such as cost little, or
  all, which costs operations on numbers;
- *tiles*: tensors above a limit are computed tile by tile (``passes/tile.py``), and the limit is
  lowered until the forecast fits. Tiles are loops, which cost calls of kernels: so the limit is not
  lowered further than it has to be, within a factor of two;
- *away*: what is not needed for a while lives with the host (``offload/choose.py``), which costs
  copies: in the program as it is; then with all loops run by the host, which can move cells between
  their steps, and inputs in an array for each point; then with large points computed one after the
  other where a loop runs (``passes/walk.py``), so that nobody reads all of them; then in the
  smallest tiles; at last with one point of everything at a time (``-O1``).

Tiles are also tried together with values made again, where neither is enough. Of what fits the
cheapest is taken, as far as calls, copies and operations tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import RECOMPUTE
from tempoc.offload.choose import choose, copied
from tempoc.passes.recompute import waits
from tempoc.passes.tile import Tile
from tempoc.passes.work import operations
from tempoc.program.nodes import Program
from tempoc.runtime.bounds import resolve
from tempoc.runtime.budget import check_budget
from tempoc.runtime.problems import RunError
from tempoc.runtime.progress import count_calls
from tempoc.runtime.rehearsal import forecast
from tempoc.runtime.sizes import size_text

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

Filled = Callable[[Program], frozenset[str]]
"""Which stores are filled before a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
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

    def more(self, other: Variant) -> str:
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
    variants: tuple[Variant, ...]

    @property
    def chosen(self) -> Variant:
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


def fit(compilation: Compilation, bounds: Mapping[str, int], given: Filled, budget: int) -> Fit:
    """The cheapest variant whose run with these bounds keeps to the budget.

    Raises ``RunError`` if none does, with a budget that would do, the smallest that was seen.
    """
    search = _Search(bounds=bounds, given=given, budget=budget)
    fitting = search.run(compilation)
    if fitting is not None:
        others = (v for v in search.found if v is not fitting)
        return Fit(budget=budget, variants=(*others, fitting))
    best = search.least()
    program = best.compilation.emitted.program
    check_budget(program, _values(program, bounds), given(program), budget)
    raise AssertionError("a variant fits after all")


@dataclass(slots=True, kw_only=True)
class _Search:
    """Looks at variants of a program; ``found`` are all of them.

    Others are ``skipped``, with the fewest bytes of those that are like them.
    """

    bounds: Mapping[str, int]
    given: Filled
    budget: int
    found: list[Variant] = field(default_factory=list)
    skipped: list[tuple[int, Compilation]] = field(default_factory=list)

    def run(self, compilation: Compilation) -> Variant | None:
        """The cheapest one that fits."""
        natural = self.measured(compilation)
        if natural.peak <= self.budget:
            return natural
        again = self.again(compilation)
        tiles = [compilation, *self.tiles(compilation)]
        fitting = [v for v in self.found if v.peak <= self.budget]
        fitting += self.away(compilation)
        if again and not fitting:
            tiles += self.tiles(again[-1])
            fitting += [v for v in self.found if v.peak <= self.budget]
        for variant in self.by_host(compilation, tiles[-1]):
            if fitting:
                break
            fitting += self.away(variant)
        return min(fitting, key=lambda v: (v.cost, -v.limit), default=None)

    def again(self, compilation: Compilation) -> list[Compilation]:
        """Variants that make values again instead of keeping them."""
        options = replace(compilation.options, sizes=dict(self.bounds))
        found = []
        for what in RECOMPUTE if options.recompute is None else ():
            variant = compilation.variant(replace(options, recompute=what))
            if waits(variant.passes.graph):
                self.measured(variant)
                found.append(variant)
        return found

    def tiles(self, compilation: Compilation) -> list[Compilation]:
        """Variants with smaller and smaller tiles until one fits; no two are alike.

        Those between the largest and the smallest are skipped where these are ``FAR`` too large.
        """
        limits = _limits(compilation, self.budget)
        found: dict[int, Variant] = {}
        for limit in dict.fromkeys((*limits[:1], *limits[-1:], *limits)):
            variant = self.limited(compilation, limit)
            least = min((v.peak for v in found.values()), default=0)
            if len(found) > 1 and least > FAR * self.budget:
                self.skipped.append((least, variant))
                continue
            if variant.passes.graph == compilation.passes.graph:
                continue
            alike = (k for k, v in found.items() if _is_alike(v.compilation, variant))
            other = next(alike, 0)
            found[limit] = self.said(found[other], limit) if other else self.measured(variant)
            if found[limit].peak <= self.budget and limit > limits[-1]:
                break
        fitting = [limit for limit, v in found.items() if v.peak <= self.budget]
        if fitting:
            self.measured(self.limited(compilation, 2 * max(fitting)))
        return [found[limit].compilation for limit in sorted(found, reverse=True)]

    def said(self, variant: Variant, limit: int) -> Variant:
        """A variant that is the same with a larger limit, which says more of it."""
        compilation = copy(variant.compilation)
        compilation.options = replace(compilation.options, limit=limit)
        found = replace(variant, compilation=compilation)
        self.found = [found if v is variant else v for v in self.found]
        return found

    def limited(self, compilation: Compilation, limit: int) -> Compilation:
        """The same with tiles of what takes more bytes."""
        options = replace(compilation.options, limit=limit, sizes=dict(self.bounds))
        return compilation.variant(options)

    def least(self) -> Variant:
        """The variant that takes least; none is skipped that would not be for its budget."""
        for least, compilation in self.skipped:
            if least <= FAR * min(v.peak for v in self.found):
                self.measured(compilation)
        return min(self.found, key=lambda v: v.peak)

    def by_host(self, compilation: Compilation, smallest: Compilation) -> Iterator[Compilation]:
        """The same with all loops run by the host, and inputs in pieces, in several ways."""
        options = replace(compilation.options, regions=False, bucket=0, apart=True)
        yield compilation.variant(options)
        if options.level > 1 and options.passes is None:
            yield compilation.variant(replace(options, walk=True, sizes=dict(self.bounds)))
        if smallest is not compilation:
            limit, sizes = smallest.options.limit, smallest.options.sizes
            again = smallest.options.recompute
            yield compilation.variant(replace(options, limit=limit, sizes=sizes, recompute=again))
        if options.level > 1 and options.passes is None:
            yield compilation.variant(replace(options, level=1))

    def away(self, compilation: Compilation) -> list[Variant]:
        """The same with stores that live with the host, if that fits."""
        program = compilation.emitted.program
        values, given = _values(program, self.bounds), self.given(program)
        if count_calls(program.tree, values) > MOST:
            return []
        choice = choose(program, values, given, self.budget)
        if not choice.reach:  # nothing can go, or nothing helps
            return []
        fits = choice.needed <= self.budget
        moved = copied(choice, values, given) if fits else 0
        variant = self.measured(compilation.with_away(choice.reach, choice.ahead), moved)
        return [variant] if fits else []

    def measured(self, compilation: Compilation, moved: int = 0) -> Variant:
        """What a run of a program takes."""
        program = compilation.emitted.program
        values = _values(program, self.bounds)
        found = forecast(program, values, self.given(program))
        calls = count_calls(program.tree, values)
        variant = Variant(
            compilation=compilation,
            peak=found.peak,
            calls=calls,
            operations=operations(compilation.optimized, values),
            away=found.away,
            copied=moved,
        )
        self.found.append(variant)
        return variant


def _limits(compilation: Compilation, budget: int) -> list[int]:
    """The limits that are tried, the largest first; none if the program gets no tiles by limits."""
    limits = [LEAST]
    while limits[-1] * TIMES <= budget:
        limits.append(limits[-1] * TIMES)
    tiled = any(isinstance(s, Tile) for s in compilation.steps)
    return limits[::-1] if tiled and compilation.options.tile is None else []


def _is_alike(a: Compilation, b: Compilation) -> bool:
    return a.passes.graph == b.passes.graph


def _values(program: Program, bounds: Mapping[str, int]) -> dict[str, int]:
    """All bounds of a program. Raises ``RunError``."""
    found = resolve(program, bounds, (), {})
    if found.problems:
        raise RunError(*found.problems)
    return found.values
