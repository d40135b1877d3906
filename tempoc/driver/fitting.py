"""Compiles for a budget: as long as the stores of a run would take more, in another way.

What needs no more than the budget is left as it is. Otherwise values are made again instead of
kept (``passes/recompute.py``), first those that cost little, then all. If that is not enough,
tensors above a limit are computed tile by tile (``passes/tile.py``), and the limit is lowered until
the forecast fits. Tiles are loops, which cost calls of kernels: so the limit is not lowered further
than it has to be, within a factor of two. At last both are tried together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import RECOMPUTE, Options
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

PARTS = (2, 8, 32, 128, 512)
"""Which part of the budget one tensor may take, from variant to variant."""
LEAST = 1024
"""Tensors of so few bytes are not worth a loop."""

WORDS = {"cheap": "values that cost little made again", "all": "values made again"}
"""What is said of values that are not kept."""

Filled = Callable[[Program], frozenset[str]]
"""Which stores are filled before a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way to compile, the most bytes that stores then have, and how often kernels are called.

    ``operations``: about how many there are on numbers, of all kernels.
    """

    compilation: Compilation
    peak: int
    calls: int
    operations: int

    @property
    def limit(self) -> int | None:
        """Tensors that take more bytes are made in tiles; ``None``: as without a budget."""
        return self.compilation.options.limit

    def about(self) -> str:
        """What is different, in words."""
        what = self.compilation.options.recompute
        parts = [] if what is None else [WORDS[what]]
        if self.limit is not None:
            parts.append(f"tiles of what takes more than {size_text(self.limit)}")
        return ", ".join(parts) or "as it is"

    def more(self, other: Variant) -> str:
        """How many more operations it has than another."""
        return f"{100 * (self.operations - other.operations) / max(1, other.operations):.0f}%"


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
        cost = f"{last.calls} calls of kernels instead of {first.calls}"
        if last.compilation.options.recompute is not None:
            cost += f", {last.more(first)} more operations"
        return (
            f"note: {last.about()}, to keep to {size_text(self.budget)}: at most "
            f"{size_text(last.peak)} in stores instead of {size_text(first.peak)}, {cost}\n"
        )


def fit(compilation: Compilation, bounds: Mapping[str, int], given: Filled, budget: int) -> Fit:
    """The first variant whose run with these bounds keeps to the budget.

    Raises ``RunError`` if none does, with a budget that would do, the smallest that was seen.
    """
    found: list[Variant] = []
    for variant in _variants(compilation, bounds, budget, found):
        fitting = _measured(variant, bounds, given)
        if fitting.peak <= budget:
            limit = fitting.limit
            if limit is None or variant is compilation or 2 * limit > budget // PARTS[0]:
                return Fit(budget=budget, variants=(*found, fitting))
            larger = Compilation(variant.loaded, replace(variant.options, limit=2 * limit))
            other = _measured(larger, bounds, given)
            pair = (other, fitting) if other.peak > budget else (fitting, other)
            return Fit(budget=budget, variants=(*found, *pair))
        found.append(fitting)
    best = min(found, key=lambda v: v.peak)
    if best is not found[0]:
        # With another budget other tiles are tried: the one that is named must really do.
        try:
            fit(compilation, bounds, given, best.peak)
        except _NothingFitsError as error:
            best = error.best
    program = best.compilation.emitted.program
    try:
        check_budget(program, _values(program, bounds), given(program), budget)
    except RunError as error:
        raise _NothingFitsError(error, best) from None
    raise AssertionError("a variant fits after all")


class _NothingFitsError(RunError):
    """No variant keeps to a budget; with its peak for a budget, ``best`` is a way to keep to it."""

    def __init__(self, error: RunError, best: Variant) -> None:
        super().__init__(*error.problems)
        self.best = best


def _variants(
    compilation: Compilation, bounds: Mapping[str, int], budget: int, found: Sequence[Variant]
) -> Iterator[Compilation]:
    """The program as it is, then in other ways; ``found`` are those that were not enough."""
    yield compilation
    told = replace(compilation.options, sizes=dict(bounds))
    for what in RECOMPUTE if told.recompute is None else ():
        variant = Compilation(compilation.loaded, replace(told, recompute=what))
        if waits(variant.passes.graph):
            yield variant
    best = min(found, key=lambda v: v.peak).compilation.options
    bases = [told] if best.recompute == told.recompute else [told, best]
    if told.tile is None and any(isinstance(s, Tile) for s in compilation.steps):
        for options in bases:
            yield from _in_tiles(compilation, options, budget)


def _in_tiles(compilation: Compilation, options: Options, budget: int) -> Iterator[Compilation]:
    """The program with smaller and smaller tiles."""
    before = compilation
    for part in PARTS:
        limit = max(LEAST, budget // part)
        variant = Compilation(compilation.loaded, replace(options, limit=limit))
        if variant.passes.graph != before.passes.graph:
            yield variant
            before = variant
        if limit == LEAST:
            return


def _measured(compilation: Compilation, bounds: Mapping[str, int], given: Filled) -> Variant:
    program = compilation.emitted.program
    values = _values(program, bounds)
    return Variant(
        compilation=compilation,
        peak=forecast(program, values, given(program)).peak,
        calls=count_calls(program.tree, values),
        operations=operations(compilation.optimized, values),
    )


def _values(program: Program, bounds: Mapping[str, int]) -> dict[str, int]:
    """All bounds of a program. Raises ``RunError``."""
    found = resolve(program, bounds, (), {})
    if found.problems:
        raise RunError(*found.problems)
    return found.values
