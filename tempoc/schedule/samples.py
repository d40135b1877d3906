"""Points at which a cycle of dependences shows that no small bounds show.

A network that is copied at every fiftieth step needs itself in a cycle only from step 50 on. The
points close to the numbers of the program are few, and what they need of each other they need in
the whole program as well: a cycle among them is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from tempoc.base.effort import EFFORT
from tempoc.schedule.replay import ConcreteProgram, StatementInstance, are_allowed
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe, conjuncts
from tempoc.symbolic.walk import divisions, evaluate, symbols, written_integers


def sampled(
    statements: Statements, universe: Universe
) -> tuple[ConcreteProgram, list[StatementInstance]] | None:
    """Some instances at the least bounds that have them; ``None`` if these are not allowed, or if
    it takes too long to look at so many points."""
    steps = _steps(statements)
    points = (prod(len(steps[d]) for d in s.domain.dims) for s in statements.statements)
    if sum(points) > EFFORT.replayed_cells:
        return None
    bounds: dict[str, int] = {b.name: EFFORT.sampled_reach + 1 for b in universe.bounds}
    for dim, values in steps.items():
        name = universe.dim(dim).bound
        bounds[name] = max(bounds[name], values[-1] + 1)
    for b in universe.bounds:
        if b.value is not None and not isinstance(b.value, ix.Const):
            bounds[b.name] = evaluate(b.value, bounds)
    if not are_allowed(universe, bounds):
        return None
    world = ConcreteProgram(statements, universe, bounds)
    return world, [
        (s.name, point)
        for s in statements.statements
        for point in product(*(steps[d] for d in s.domain.dims))
        if world.has(s, point)
    ]


def _steps(statements: Statements) -> dict[str, list[int]]:
    """The steps of each dimension that are looked at, ascending: the first, and those close to
    the numbers that stand with it, and to the next multiples of what it is divided by."""
    numbers: dict[str, set[int]] = {d: set() for s in statements.statements for d in s.domain.dims}
    divisors: dict[str, set[int]] = {d: set() for d in numbers}
    for e in _indices(statements):
        literals = {abs(n) for n in written_integers(e)}
        by = {q.divisor for q in divisions(e) if isinstance(q, ix.FloorDiv | ix.Mod)}
        for dim in symbols(e):
            if dim in numbers:
                numbers[dim] |= literals
                divisors[dim] |= by
    steps = {}
    for dim, written in numbers.items():
        centres = {0} | written | {-(-n // k) * k for n in written for k in divisors[dim]}
        near = {
            c + r for c in centres for r in range(-EFFORT.sampled_reach, EFFORT.sampled_reach + 1)
        }
        steps[dim] = sorted(n for n in near if n >= 0)
    return steps


def _indices(statements: Statements) -> Iterator[ix.Expr]:
    """The conditions and indices of all statements."""
    for s in statements.statements:
        yield from conjuncts(s.domain.where)
        for w in s.writes:
            yield from conjuncts(w.where)
        for entries in (*(r.entries for r in s.reads), *(w.entries for w in s.writes)):
            for e in entries:
                yield from (e.lo, e.hi) if isinstance(e, ix.Slice) else (e,)
