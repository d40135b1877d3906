"""Chooses the stores to offload to the host, so that a run keeps to a memory budget.

A greedy search over dry runs. It tries the stores with the most bytes at the peak first, each with
the longest reach that lowers the peak: the longer the reach, the fewer copies. A store that the
statement at the peak uses does not lower it and stays on the device. Then stores whose offloading
turned out to be unnecessary are restored. A second search starts with the stores that are copied
least often: cells of one step rather than an array that every step writes, weights rather than
caches. The choice whose copies take less time is kept. At last loads are prefetched a step ahead if
memory allows.

Of a program with many stores, one at a time takes too many dry runs: from some number of them on,
twice as many stores are offloaded at a time as the time before, and restored by halves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.cost_model import MODEL, CostModel
from tempoc.base.effort import EFFORT
from tempoc.offload.rewrite import NEAR, PrefetchReach, offloadable, with_transfers
from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.forecast.dry_run import Forecast, forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadChoice:
    """A candidate: the offloaded stores with their reach, the program, and its dry run.

    ``ahead`` are the stores that are prefetched a step ahead.
    """

    reach: PrefetchReach
    program: prog.Program
    forecast: Forecast
    ahead: tuple[str, ...] = ()

    @property
    def peak(self) -> int:
        """The peak of bytes on the device."""
        return self.forecast.peak


def choose(
    program: prog.Program,
    bounds: Mapping[str, int],
    given: frozenset[str],
    budget: int,
    model: CostModel = MODEL,
) -> OffloadChoice:
    """The candidate that keeps to the budget with few copies; if none does, the smallest peak.

    Its program is not verified.
    """
    calls = max(1, count_calls(program.tree, dict(bounds)))
    parts = len(program.stores) + sum(1 for _ in statements_in(program.tree))
    each = calls + EFFORT.dry_run_parts * parts
    most = max(EFFORT.offload_candidates, EFFORT.dry_run_calls // each)
    chooser = _Chooser(program=program, bounds=bounds, given=given, budget=budget, limit=most)
    choice = chooser.run()
    has_others = len(choice.reach) < len(offloadable(program))
    if (
        choice.peak <= budget
        and has_others
        and calls * EFFORT.whole_dry_runs <= EFFORT.dry_run_calls
    ):
        cheap = chooser.few_copies()
        if cheap.peak <= budget and cheap.reach != choice.reach:
            both = (choice, cheap)
            choice = min(both, key=lambda c: copied(c, bounds, given).nanoseconds(model))
    return chooser.prefetch(choice)


@dataclass(frozen=True, slots=True)
class Copied:
    """What a run copies between host and device: bytes, as so many arrays."""

    nbytes: int = 0
    arrays: int = 0

    def nanoseconds(self, model: CostModel) -> float:
        """The estimated time of the copies."""
        return model.copy_ns_per_byte * self.nbytes + model.transfer_ns * self.arrays


NOTHING_COPIED = Copied()


def copied(choice: OffloadChoice, bounds: Mapping[str, int], given: frozenset[str]) -> Copied:
    """The copies of a run."""
    return copied_by(choice.program, bounds, given)


def copied_by(program: prog.Program, bounds: Mapping[str, int], given: frozenset[str]) -> Copied:
    """The copies of a run of a program."""
    dry_run = forecast(program, bounds, given, every_step=True)
    return Copied(dry_run.loaded + dry_run.evicted, dry_run.transfers)


@dataclass(slots=True, kw_only=True)
class _Chooser:
    """Tries choices, ``limit`` of them or few more.

    ``often``: how often each store is copied, in powers of two, if that decides which are tried
    first, of equals the largest; else their sizes do. ``in_blocks``: one store at a time turned out
    to take too many dry runs.
    """

    program: prog.Program
    bounds: Mapping[str, int]
    given: frozenset[str]
    budget: int
    limit: int
    tried: dict[tuple[tuple[str, int], ...], OffloadChoice] = field(default_factory=dict)
    often: Mapping[str, int] = field(default_factory=dict)
    in_blocks: bool = False

    def few_copies(self) -> OffloadChoice:
        """Run the search again, by how often stores are copied."""
        everything = self.evaluate(dict.fromkeys(offloadable(self.program), NEAR))
        sizes = self.evaluate({}).forecast.stores
        dry_run = forecast(everything.program, self.bounds, self.given, every_step=True)
        often = {n: dry_run.moved.get(n, 0) // size for n, size in sizes.items()}
        self.often = {n: times.bit_length() for n, times in often.items()}
        if not self.in_blocks:
            self.limit += len(self.tried)
        return self.run()

    def run(self) -> OffloadChoice:
        """Run the greedy search, without prefetching."""
        names = offloadable(self.program)
        farthest = depth(self.program.tree) + 1
        best = self.evaluate({})
        everything = self.evaluate(dict.fromkeys(names, NEAR))
        if everything.peak > self.budget:
            return min((best, everything), key=lambda choice: choice.peak)
        for _ in range(EFFORT.offload_moves):
            if best.peak <= self.budget:
                return self.prune(best, farthest)
            if self.is_enough():
                break
            better = self.improve(best, names, farthest)
            if better is None:
                break
            best = better
        self.in_blocks |= len(self.tried) + len(names) > self.limit
        if not self.in_blocks:
            return self.prune(everything, farthest)
        self.limit = len(self.tried) + EFFORT.offloaded_blocks
        choice = self.offload_blocks(best, names) or everything
        return self.prune(choice, farthest, max(1, len(choice.reach) // 2))

    def offload_blocks(self, best: OffloadChoice, names: tuple[str, ...]) -> OffloadChoice | None:
        """Offload one store, two, four and so on of those at the peak, as often as that lowers it.

        ``None`` if nothing fits before the limit is reached.
        """
        while best.peak > self.budget and not self.is_enough():
            left = [n for n in self.large(best, names) if best.reach.get(n) != NEAR]
            better = best
            for bits in range(len(left).bit_length() + 1):
                block = dict.fromkeys(left[: 1 << bits], NEAR)
                better = min((better, self.evaluate({**best.reach, **block})), key=lambda c: c.peak)
                if better.peak <= self.budget:
                    break
            if better is best:
                return None
            best = better
        return best if best.peak <= self.budget else None

    def is_enough(self) -> bool:
        """Whether the limit of candidates is reached."""
        return len(self.tried) >= self.limit

    def evaluate(self, reach: PrefetchReach) -> OffloadChoice:
        """The candidate with this reach, from the memo table if it was tried before."""
        key = tuple(sorted(reach.items()))
        if key not in self.tried:
            program = with_transfers(self.program, reach)
            dry_run = forecast(program, self.bounds, self.given)
            self.tried[key] = OffloadChoice(reach=reach, program=program, forecast=dry_run)
        return self.tried[key]

    def prefetch(self, choice: OffloadChoice) -> OffloadChoice:
        """The same with loads a step ahead, as far as the budget allows."""
        if choice.peak > self.budget:
            return choice
        singles = ((name,) for name in (*choice.reach,)[: EFFORT.offload_candidates])
        candidates = [(*choice.reach,), *singles]
        for names in candidates:
            ahead = tuple(dict.fromkeys((*choice.ahead, *names)))
            program = with_transfers(self.program, choice.reach, ahead)
            if program != choice.program:
                dry_run = forecast(program, self.bounds, self.given)
                if dry_run.peak <= self.budget:
                    choice = replace(choice, ahead=ahead, program=program, forecast=dry_run)
        return choice

    def improve(
        self, best: OffloadChoice, names: tuple[str, ...], farthest: int
    ) -> OffloadChoice | None:
        """Offload one more store, or shorten its reach; the first move that lowers the peak."""
        for name in self.large(best, names):
            if self.is_enough():
                break
            if best.reach.get(name, farthest + 1) == NEAR:
                continue
            nearest = self.evaluate({**best.reach, name: NEAR})
            if nearest.peak < best.peak:
                farther = range(best.reach.get(name, farthest + 1) - 1, NEAR, -1)
                others = (self.evaluate({**best.reach, name: reach}) for reach in farther)
                return next((c for c in others if c.peak == nearest.peak), nearest)
        return None

    def large(self, choice: OffloadChoice, names: tuple[str, ...]) -> list[str]:
        """The stores that are not small at the peak, in the order in which they are tried."""
        sizes = choice.forecast.stores
        large = (n for n in names if sizes.get(n, 0) >= MODEL.small_bytes)
        return sorted(large, key=lambda n: (self.often.get(n, 0), -sizes[n]))

    def prune(self, choice: OffloadChoice, farthest: int, size: int = 1) -> OffloadChoice:
        """Drop offloaded stores and lengthen reaches as far as the budget allows.

        First of ``size`` stores at a time, then of half as many, down to one.
        """
        while size:
            names = sorted(
                choice.reach, key=lambda n: (-self.often.get(n, 0), self.size(choice, n))
            )
            for block in (names[k : k + size] for k in range(0, len(names), size)):
                if self.is_enough():
                    return choice
                others = {n: r for n, r in choice.reach.items() if n not in block}
                reaches = {n: choice.reach[n] for n in block}
                lengths = range(farthest, min(reaches.values()), -1)
                longer = (
                    {**others, **{n: max(r, before) for n, before in reaches.items()}}
                    for r in lengths
                )
                fits = (self.evaluate(kind) for kind in (others, *longer))
                choice = next((c for c in fits if c.peak <= self.budget), choice)
            size //= 2
        return choice

    def size(self, choice: OffloadChoice, name: str) -> int:
        """The offloaded bytes of a store; the smallest are restored first."""
        return choice.forecast.away_stores.get(name, 0)


def depth(s: prog.ProgramStatement) -> int:
    """The depth of nested loops."""
    match s:
        case prog.Sequence(items=items):
            return max(map(depth, items), default=0)
        case prog.Loop(body=body):
            return 1 + depth(body)
        case prog.Guard(body=body):
            return depth(body)
        case _:
            return 0
