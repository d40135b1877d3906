"""Compiles for a budget: as long as the stores of a run would take more, in smaller tiles.

What needs no more than the budget is left as it is. Otherwise tensors above a limit are computed
tile by tile (``passes/tile.py``), and the limit is lowered until the forecast fits. Tiles are
loops, which cost calls of kernels: so the limit is not lowered further than it has to be, within a
factor of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.passes.tile import Tile
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

Filled = Callable[[Program], frozenset[str]]
"""Which stores are filled before a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way to compile, the most bytes that stores then have, and how often kernels are called.

    ``limit``: tensors that take more bytes are made in tiles; ``None``: as without a budget.
    """

    compilation: Compilation
    limit: int | None
    peak: int
    calls: int

    def about(self) -> str:
        """What is different, in words."""
        if self.limit is None:
            return "as it is"
        return f"tiles of what takes more than {size_text(self.limit)}"


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
        return (
            f"note: {last.about()}, to keep to {size_text(self.budget)}: at most "
            f"{size_text(last.peak)} in stores instead of {size_text(first.peak)}, "
            f"{last.calls} calls of kernels instead of {first.calls}\n"
        )


def fit(compilation: Compilation, bounds: Mapping[str, int], given: Filled, budget: int) -> Fit:
    """The first variant whose run with these bounds keeps to the budget.

    Raises ``RunError`` if none does, with the smallest budget that would do.
    """
    found: list[Variant] = []
    for limit, variant in _variants(compilation, bounds, budget):
        fitting = _measured(variant, limit, bounds, given)
        if fitting.peak <= budget:
            if limit is None or 2 * limit > budget // PARTS[0]:
                return Fit(budget=budget, variants=(*found, fitting))
            options = _limited(compilation.options, 2 * limit, bounds)
            larger = Compilation(compilation.loaded, options)
            other = _measured(larger, 2 * limit, bounds, given)
            pair = (other, fitting) if other.peak > budget else (fitting, other)
            return Fit(budget=budget, variants=(*found, *pair))
        found.append(fitting)
    best = min(found, key=lambda v: v.peak)
    program = best.compilation.emitted.program
    check_budget(program, _values(program, bounds), given(program), budget)
    raise AssertionError("a variant fits after all")


def _variants(
    compilation: Compilation, bounds: Mapping[str, int], budget: int
) -> Iterator[tuple[int | None, Compilation]]:
    """The program as it is, then with smaller and smaller tiles; none that is like one before."""
    yield None, compilation
    options, before = compilation.options, compilation
    if options.tile is not None or not any(isinstance(s, Tile) for s in compilation.steps):
        return
    for part in PARTS:
        limit = max(LEAST, budget // part)
        variant = Compilation(compilation.loaded, _limited(options, limit, bounds))
        if variant.passes.graph != before.passes.graph:
            yield limit, variant
            before = variant
        if limit == LEAST:
            return


def _limited(options: Options, limit: int, bounds: Mapping[str, int]) -> Options:
    return replace(options, limit=limit, sizes=dict(bounds))


def _measured(
    compilation: Compilation, limit: int | None, bounds: Mapping[str, int], given: Filled
) -> Variant:
    program = compilation.emitted.program
    values = _values(program, bounds)
    peak = forecast(program, values, given(program)).peak
    calls = count_calls(program.tree, values)
    return Variant(compilation=compilation, limit=limit, peak=peak, calls=calls)


def _values(program: Program, bounds: Mapping[str, int]) -> dict[str, int]:
    """All bounds of a program. Raises ``RunError``."""
    found = resolve(program, bounds, (), {})
    if found.problems:
        raise RunError(*found.problems)
    return found.values
