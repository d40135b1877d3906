"""Checks a memory plan by replaying it at small bounds.

No read may meet a slot that was overwritten, freed or never written.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tempoc.memory.replay import Replay, TooLong
from tempoc.memory.storage import Plan
from tempoc.poly.space import Space
from tempoc.schedule.compute import Scheduled
from tempoc.schedule.replay import World, endings
from tempoc.sdg.graph import Output
from tempoc.sdg.statements import Statements
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import evaluate, symbols

SMALL = (1, 2, 3, 5)
_STEPS = 20_000


def verify(
    plan: Plan,
    statements: Statements,
    scheduled: Scheduled,
    outputs: Sequence[Output],
    space: Space,
) -> None:
    """Replay the schedule at small bounds. Raises ``DiagnosticError`` (RT450) at a lost value."""
    for bounds in small_bounds(space.universe):
        for ends in endings(space.universe, bounds):
            world = World(statements, space.universe, bounds, ends)
            replay = Replay(
                plan=plan, statements=statements, bounds=bounds, world=world, steps=_STEPS
            )
            try:
                replay.run(scheduled.tree, outputs)
            except TooLong:
                # A fixed bound is large; what was replayed so far is in order.
                break


def small_bounds(universe: Universe) -> Iterator[dict[str, int]]:
    """Bounds that the program allows: all equal, then each size for one of them among others."""
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
        if _complete(universe, bounds):
            yield bounds


def _complete(universe: Universe, bounds: dict[str, int]) -> bool:
    """Add fixed and derived bounds; whether all are at least 1 and all assumptions hold."""
    rest = [b for b in universe.bounds if b.value is not None]
    while rest:
        b = next(b for b in rest if b.value is not None and set(symbols(b.value)) <= set(bounds))
        assert b.value is not None
        bounds[b.name] = evaluate(b.value, bounds)
        rest.remove(b)
    return min(bounds.values(), default=1) >= 1 and all(
        evaluate(a, bounds) for a in universe.assumptions
    )
