"""The search for a variant whose stores fit into a memory budget.

A program that fits is left as it is. Otherwise these candidates are compiled, and their peaks
predicted by a dry run:

- *rematerialization* (``passes/memory/rematerialize.py``) of cheap values, or of all; it costs
  operations;
- *tiles* of tensors above a limit (``passes/tiling/tile.py``), which is lowered until the program
  fits. Tiles are loops and cost kernel calls, so the limit is found within a factor of two;
- *offloading* of stores to the host between their uses (``offload/choose.py``), which costs
  copies: in the program as it is; then with all loops run by the host, which can move cells between
  steps, and one array per point of inputs and outputs; then with large points computed one after
  the other where a loop runs (``passes/memory/serialize.py``), so that no call reads all of them;
  then with the smallest tiles; at last with a call for each point (``-O1``). Where one of these
  fits, loops that move nothing run on the device again; often nothing moves, and to have no room
  for more steps is enough. Large points one after the other are tried
  without offloading first, as they may need no more than a window of what is stored else.

Tiles are also combined with rematerialization where neither suffices. Among the candidates that fit
the cheapest is chosen, by the estimated time of its kernels and copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from tempoc.base.cost_model import MODEL, CostModel
from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import RECOMPUTE
from tempoc.driver.search import candidates
from tempoc.driver.timing.estimate import Estimator
from tempoc.offload.choose import NOTHING_COPIED, Copied, choose, copied, copied_by
from tempoc.offload.host_calls import count_host_calls
from tempoc.passes.analysis.cost import operations
from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.bounds import bound_values
from tempoc.runtime.forecast.budget import PlannedRun, budget_problem
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.messages.units import size_text
from tempoc.sdg.evaluation.given_data import all_bounds

FilledStores = Callable[[prog.Program], frozenset[str]]
"""Gives the stores of a program that are filled before a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetVariant:
    """A compilation with its predicted cost.

    ``peak``: the most bytes of stores on the device; ``calls``: kernel calls, ``launched`` those of
    the host; ``operations``: an estimate of scalar operations; ``away``: the most bytes of
    offloaded stores on the host; ``computing``: the estimated nanoseconds of all kernels;
    ``copied``: what moves between device and host.
    """

    compilation: Compilation
    peak: int
    calls: int
    launched: int
    operations: int
    computing: float
    away: int = 0
    copied: Copied = NOTHING_COPIED
    model: CostModel = MODEL

    @property
    def limit(self) -> int:
        """Tensors with more bytes are tiled; 0: none."""
        return self.compilation.options.limit or 0

    @property
    def cost(self) -> float:
        """The estimated time of a run, in nanoseconds."""
        return self.computing + self.copied.nanoseconds(self.model)

    def more(self, other: BudgetVariant) -> str:
        """The increase in operations over another variant, in percent."""
        return f"{100 * (self.operations - other.operations) / max(1, other.operations):.0f}%"

    def about(self) -> str:
        """How this variant differs from the plain compilation, in words."""
        return (
            ", ".join(d.about for d in candidates.differences(self.compilation.options))
            or candidates.AS_IT_IS
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFit:
    """The variants that were measured; the last one fits and is chosen.

    ``of_device``: the budget is what the device has, nobody asked for it.
    """

    budget: int
    variants: tuple[BudgetVariant, ...]
    of_device: bool = False

    @property
    def chosen(self) -> BudgetVariant:
        """The variant that fits."""
        return self.variants[-1]

    def note(self) -> str:
        """One line on the choice and its cost; empty if the plain program fits."""
        first, last = self.variants[0], self.variants[-1]
        if last is first:
            return ""
        more = ""
        if last.compilation.options.recompute is not None:
            more = f", {last.more(first)} more operations"
        moved = last.copied.nbytes
        copies = f", {size_text(moved)} copied to and from the host" if moved else ""
        limit = size_text(self.budget)
        limit = f"the {limit} of the device" if self.of_device else limit
        return (
            f"note: {last.about()}, to keep to {limit}: at most "
            f"{size_text(last.peak)} in stores instead of {size_text(first.peak)}, "
            f"{last.calls} calls of kernels instead of {first.calls}{more}{copies}\n"
        )


def fit_budget(
    compilation: Compilation,
    bounds: Mapping[str, int],
    filled: FilledStores,
    budget: int,
    *,
    exact: bool = True,
    model: CostModel = MODEL,
) -> BudgetFit:
    """The cheapest variant whose run with these bounds keeps to the budget.

    Raises ``RunError`` if none does, naming the smallest budget that would do. If ``exact``, all
    candidates are measured for that; otherwise it is the smallest among those measured. ``model``
    is the row of the device, if that is known.
    """
    search = _BudgetSearch(bounds=bounds, given=filled, budget=budget, exact=exact, model=model)
    fitting = search.run(compilation)
    if fitting is not None:
        rejected = (v for v in search.measured if v is not fitting)
        return BudgetFit(budget=budget, variants=(*rejected, fitting))
    # The store of a chunk is as large for small bounds, for which programs without may fit.
    whole = [v for v in search.measured if not v.compilation.options.chunks]
    least, other = (min(some, key=lambda v: v.peak) for some in (search.measured, whole))
    variants = (least,) if least is other else (least, other)
    programs = [v.compilation.emitted.program for v in variants]
    runs = [PlannedRun(p, bound_values(p, bounds), filled(p)) for p in programs]
    raise RunError(budget_problem(runs, budget, searched=True))


@dataclass(slots=True, kw_only=True)
class _BudgetSearch:
    """Measures candidates; ``measured`` holds all results so far.

    Candidates that are unlikely to fit are ``skipped`` at first. If nothing fits and the search is
    ``exact``, they are measured too: the set of candidates then does not depend on the budget, so a
    budget is never refused if a smaller one is accepted.
    """

    bounds: Mapping[str, int]
    given: FilledStores
    budget: int
    exact: bool
    model: CostModel
    measured: list[BudgetVariant] = field(default_factory=list)
    skipped: list[Compilation] = field(default_factory=list)

    def run(self, compilation: Compilation) -> BudgetVariant | None:
        """The cheapest variant that fits; ``None`` if none does."""
        compilation.progress.search()
        original = self.measure(compilation)
        if original.peak <= self.budget:
            return original
        limits = _limits(compilation, original.peak)
        # Tiles, also of values that are rematerialized: one for each limit, and one to confirm.
        most = len(limits) + 1
        others = 1 + most + EFFORT.chunked + EFFORT.loops_by_host
        self.expect(compilation, len(RECOMPUTE) + most + 1, others)
        recomputed = self.recomputing(compilation)
        self.expect(compilation, most + 1, others)
        tiles = [compilation, *self.tiled(compilation, limits)]
        fitting = [v for v in self.measured if v.peak <= self.budget]
        if not fitting and (variant := candidates.running(compilation, self.bounds)) is not None:
            fitting += self.unchanged(variant)
        if not fitting:
            self.expect(compilation, EFFORT.chunked + 1, most + EFFORT.loops_by_host)
            fitting += self.chunked(compilation)
        self.expect(compilation, 1, 0 if fitting else most + EFFORT.loops_by_host)
        fitting += self.offloading(compilation)
        if recomputed and not fitting:
            self.expect(compilation, most, EFFORT.loops_by_host)
            tiles += self.tiled(recomputed[-1], limits)
            fitting += [v for v in self.measured if v.peak <= self.budget]
        self.expect(compilation, 0, 0 if fitting else EFFORT.loops_by_host)
        for variant in self.by_host(compilation, tiles[-1]):
            if fitting:
                break
            those = self.offloading(variant)
            fitting += self.rolled(those) if compilation.options.on_device else those
        if self.exact and not fitting:
            self.expect(compilation, 0, 0)
            fitting += [v for v in self.measure_skipped() if v.peak <= self.budget]
        return min(fitting, key=lambda v: (v.cost, -v.limit), default=None)

    def expect(self, compilation: Compilation, most: int, beyond: int) -> None:
        """At most so many candidates are left, and so many ``beyond`` these if none of them fits.

        Tiles and chunks that were skipped are among the latter.
        """
        fits = any(v.peak <= self.budget for v in self.measured)
        larger = EFFORT.chunked if self.larger else 0
        skipped = len(self.skipped) + larger if self.exact and not fits else 0
        compilation.progress.expect(most + beyond + skipped)

    @property
    def larger(self) -> list[int]:
        """The bytes of chunks above the budget: of these the smallest that would do may be made."""
        return [n for n in MODEL.chunk_bytes if n > self.budget]

    def recomputing(self, compilation: Compilation) -> list[Compilation]:
        """Variants with rematerialization that changes the program."""
        variants = []
        for work in RECOMPUTE:
            if (variant := candidates.rematerialized(compilation, work, self.bounds)) is not None:
                self.measure(variant)
                variants.append(variant)
        return variants

    def tiled(self, compilation: Compilation, limits: Sequence[int]) -> list[Compilation]:
        """Distinct variants with smaller and smaller tiles, until one fits.

        Skipped are limits above the budget, and the limits in between if both the largest and the
        smallest are far from it.
        """
        by_limit: dict[int, BudgetVariant] = {}
        small = [limit for limit in limits if limit <= self.budget] or [*limits[-1:]]
        for limit in dict.fromkeys((*small[:1], *small[-1:], *small, *limits)):
            variant = candidates.tiled(compilation, limit, self.bounds)
            least = min((v.peak for v in by_limit.values()), default=0)
            if limit not in small or (len(by_limit) > 1 and self.is_far(least)):
                self.skipped.append(variant)
                continue
            if candidates.is_alike(variant, compilation):
                continue
            alike = (k for k, v in by_limit.items() if candidates.is_alike(v.compilation, variant))
            same = next(alike, 0)
            by_limit[limit] = (
                self.relabelled(by_limit[same], limit) if same else self.measure(variant)
            )
            if by_limit[limit].peak <= self.budget and limit > limits[-1]:
                break
        fitting = [limit for limit, v in by_limit.items() if v.peak <= self.budget]
        if fitting:
            self.measure(candidates.tiled(compilation, 2 * max(fitting), self.bounds))
        return [by_limit[limit].compilation for limit in sorted(by_limit, reverse=True)]

    def is_far(self, peak: int) -> bool:
        """Whether a peak is far from the budget: by a factor, or by most of what it is to save."""
        natural, factor = self.measured[0].peak, EFFORT.far_factor
        return peak > factor * self.budget or factor * (natural - peak) < natural - self.budget

    def measure_skipped(self) -> Iterator[BudgetVariant]:
        """Measure the skipped variants that differ from all measured ones."""
        seen = [v.compilation for v in self.measured if not v.compilation.options.apart]
        original = self.measured[0].compilation
        chunks = candidates.chunked(original, self.larger, self.bounds) if self.larger else ()
        for variant in (*self.skipped, *(v for _, v in chunks if v.options.chunks)):
            if variant.options.chunks:
                yield from self.of_few_calls(variant)
            elif not any(candidates.is_alike(variant, other) for other in seen):
                seen.append(variant)
                yield self.measure(variant)

    def relabelled(self, variant: BudgetVariant, limit: int) -> BudgetVariant:
        """The variant with the limit in its options replaced, which leaves its graph the same."""
        compilation = copy(variant.compilation)
        compilation.options = replace(compilation.options, limit=limit)
        relabelled = replace(variant, compilation=compilation)
        self.measured = [relabelled if v is variant else v for v in self.measured]
        return relabelled

    def rolled(self, variants: list[BudgetVariant]) -> list[BudgetVariant]:
        """Variants with loops run by the host, rather with only those that move what is offloaded.

        The others, within them or beside, are loops of the device again, if that fits as well.
        """
        return [v for variant in variants for v in self._rolled(variant) or [variant]]

    def _rolled(self, variant: BudgetVariant) -> list[BudgetVariant]:
        options = variant.compilation.options
        if not options.apart or options.level < 2:
            return []
        hosted = replace(options, regions=None, hosted=tuple(options.away), away={}, ahead=())
        compilation = variant.compilation.variant(hosted)
        program = compilation.emitted.program
        calls = count_host_calls(program.tree, bound_values(program, self.bounds))
        if calls >= variant.launched:
            return []
        others = self.offloading(compilation)
        return [v for v in others if v.copied.nbytes <= variant.copied.nbytes]

    def chunked(self, compilation: Compilation) -> list[BudgetVariant]:
        """The first way to read large inputs in chunks that fits.

        Chunks are a small part of the budget; if the search is ``exact``, larger ones are measured
        before it is refused.
        """
        small = [n for n in MODEL.chunk_bytes if n <= self.budget]
        for nbytes, variant in candidates.chunked(compilation, small, self.bounds):
            if nbytes * MODEL.chunk_part > self.budget:
                self.skipped.append(variant)
                continue
            fitting = [v for v in self.of_few_calls(variant) if v.peak <= self.budget]
            if fitting:
                return fitting
        return []

    def of_few_calls(self, variant: Compilation) -> Iterator[BudgetVariant]:
        """Measure a variant with chunks, unless there are too many calls for that."""
        program = variant.emitted.program
        values, filled = bound_values(program, self.bounds), self.given(program)
        if count_host_calls(program.tree, values) <= EFFORT.offloaded_calls:
            yield self.measure(variant, copied_by(program, values, filled))

    def by_host(self, compilation: Compilation, smallest: Compilation) -> Iterator[Compilation]:
        """Variants with all loops run by the host and inputs as one array per point."""
        options = replace(compilation.options, regions=False, bucket=0, apart=True)
        sized = replace(options, sizes=dict(self.bounds))
        deep = options.level > 1 and options.passes is None
        if deep and compilation.options.on_device:
            walked = replace(compilation.options, walk=True, sizes=dict(self.bounds))
            walking = compilation.variant(walked)
            if not candidates.is_alike(walking, compilation):
                yield walking
        yield compilation.variant(options)
        if deep:
            yield compilation.variant(replace(sized, walk=True))
        if smallest is not compilation:
            limit, recompute = smallest.options.limit, smallest.options.recompute
            yield compilation.variant(replace(sized, limit=limit, recompute=recompute))
        if deep:
            yield compilation.variant(replace(options, level=1))

    def offloading(self, compilation: Compilation) -> list[BudgetVariant]:
        """The compilation with as few stores offloaded as the budget demands, if that fits."""
        program = compilation.emitted.program
        values, filled = bound_values(program, self.bounds), self.given(program)
        if count_host_calls(program.tree, values) > EFFORT.offloaded_calls:
            return self.unchanged(compilation)
        choice = choose(program, values, filled, self.budget, self.model)
        if not choice.reach:  # nothing has to go, nothing can, or nothing helps
            return self.unchanged(compilation)
        fits = choice.peak <= self.budget
        moved = copied(choice, values, filled) if fits else NOTHING_COPIED
        variant = self.measure(compilation.with_away(choice.reach, choice.ahead), moved)
        return [variant] if fits else []

    def unchanged(self, compilation: Compilation) -> list[BudgetVariant]:
        """The compilation itself, if it is not measured yet and fits."""
        if any(v.compilation is compilation for v in self.measured):
            return []
        variant = self.measure(compilation)
        return [variant] if variant.peak <= self.budget else []

    def measure(self, compilation: Compilation, moved: Copied = NOTHING_COPIED) -> BudgetVariant:
        """Predict the cost of a run, and record it."""
        program = compilation.emitted.program
        values = bound_values(program, self.bounds)
        prediction = forecast(program, values, self.given(program))
        variant = BudgetVariant(
            compilation=compilation,
            peak=prediction.peak,
            calls=count_calls(program.tree, values),
            launched=count_host_calls(program.tree, values),
            operations=operations(compilation.optimized, values),
            computing=self.nanoseconds(compilation),
            away=prediction.away + candidates.chunked_bytes(compilation, self.bounds),
            copied=moved,
            model=self.model,
        )
        self.measured.append(variant)
        compilation.progress.tried()
        return variant

    def nanoseconds(self, compilation: Compilation) -> float:
        """The estimated time of all kernels in a run."""
        values = all_bounds(compilation.optimized, self.bounds)
        return sum(part.time for part in Estimator(compilation, values, self.model).parts())


def _limits(compilation: Compilation, peak: int) -> list[int]:
    """The limits to try for tiles, the largest first; none if the pipeline cannot tile by limit."""
    limits = [MODEL.small_bytes]
    while limits[-1] * EFFORT.tile_limit_factor <= peak:
        limits.append(limits[-1] * EFFORT.tile_limit_factor)
    return limits[::-1] if candidates.is_tileable(compilation) else []
