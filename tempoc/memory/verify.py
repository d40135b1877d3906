"""Verifies a memory plan by replaying it at small bounds.

No read may be of a slot that was overwritten, freed or never written. Bounds are up to 5; for
windows longer than that, one bound is a little longer than the window.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from tempoc.base.effort import EFFORT
from tempoc.memory.plan_types import MemoryPlan
from tempoc.memory.replay import Replay, TooLong
from tempoc.poly.relations.space import Space
from tempoc.schedule.compute import Scheduled
from tempoc.schedule.replay import ConcreteProgram, LengthsAt, length_assignments
from tempoc.sdg.graph.graph import Output
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import evaluate, symbols, written_integers

SMALL = (1, 2, 3, 5)


def verify(
    plan: MemoryPlan,
    statements: Statements,
    scheduled: Scheduled,
    outputs: Sequence[Output],
    space: Space,
) -> None:
    """Replay the schedule at small bounds. Raises ``DiagnosticError`` (RT450) at a lost value."""
    universe = space.universe
    cases = [
        (bounds, EFFORT.replayed_instances, [*length_assignments(universe, bounds)])
        for bounds in small_bounds(universe)
    ]
    for bounds in beyond_windows(plan, statements, universe):
        cases.append((bounds, EFFORT.replayed_run_instances, [lasting(universe, bounds)]))
    for bounds, steps, some in cases:
        for ends in some:
            world = ConcreteProgram(statements, universe, bounds, ends)
            replay = Replay(
                plan=plan, statements=statements, bounds=bounds, world=world, steps=steps
            )
            try:
                replay.run(scheduled.tree, outputs)
            except TooLong:
                # A fixed bound is large; what was replayed so far is in order.
                break


def lasting(universe: Universe, bounds: Mapping[str, int]) -> LengthsAt:
    """The lengths of a run in which every length is the largest possible."""
    return {
        (b.name, point): bounds[b.name]
        for b in universe.ended
        for point in itertools.product(*(range(bounds[universe.dim(d).bound]) for d in b.outer))
    }


def beyond_windows(
    plan: MemoryPlan, statements: Statements, universe: Universe
) -> Iterator[dict[str, int]]:
    """Bounds of which one exceeds all distances along its dimensions, and the others are small."""
    far: dict[str, int] = {}
    for dim, e in _entries_by_dim(plan, statements):
        bound = universe.dim(dim).bound
        ends = (e.lo, e.hi) if isinstance(e, ix.Slice) else (e,)
        far[bound] = max(
            far.get(bound, 0), *(abs(n) for end in ends for n in written_integers(end)), 0
        )
    free = [b.name for b in universe.bounds if b.value is None]
    for name in free:
        if far.get(name, 0) + EFFORT.steps_past_window > max(SMALL):
            bounds = {**dict.fromkeys(free, 2), name: far[name] + EFFORT.steps_past_window}
            if _add_derived(universe, bounds):
                yield bounds


def _entries_by_dim(plan: MemoryPlan, statements: Statements) -> Iterator[tuple[str, ix.Entry]]:
    """Entries of accesses and sizes of stores, by dimension."""
    for s in statements.statements:
        uses = [(r.tensor, r.entries) for r in s.reads] + [(w.tensor, w.entries) for w in s.writes]
        for tensor, entries in uses:
            yield from zip(statements.tensors[tensor].domain.dims, entries, strict=True)
    for store in plan.stores.values():
        yield from ((a.dim, a.size) for a in store.axes)
        yield from ((a.dim, ix.Const(2 * a.every)) for a in store.axes if a.every > 1)
        yield from ((k.dim, k.modulo) for k in store.keys if k.modulo is not None)


def small_bounds(universe: Universe) -> Iterator[dict[str, int]]:
    """Bounds that satisfy the assumptions: all combinations for two, else a selection."""
    choices: Iterator[tuple[int, ...]]
    free = [b.name for b in universe.bounds if b.value is None]
    if len(free) <= 2:
        choices = itertools.product(SMALL, repeat=len(free))
    else:
        rotations = range(len(SMALL))
        mixed = (tuple(SMALL[(i * 3 + r) % 4] for i in range(len(free))) for r in rotations)
        choices = itertools.chain(((n,) * len(free) for n in SMALL), mixed)
    for sizes in choices:
        bounds = dict(zip(free, sizes, strict=True))
        if _add_derived(universe, bounds):
            yield bounds


def _add_derived(universe: Universe, bounds: dict[str, int]) -> bool:
    """Add fixed and derived bounds; whether all are at least 1 and all assumptions hold."""
    derived = [b for b in universe.bounds if b.value is not None]
    while derived:
        b = next(b for b in derived if b.value is not None and set(symbols(b.value)) <= set(bounds))
        assert b.value is not None
        bounds[b.name] = evaluate(b.value, bounds)
        derived.remove(b)
    return min(bounds.values(), default=1) >= 1 and all(
        evaluate(a, bounds) for a in universe.assumptions
    )
