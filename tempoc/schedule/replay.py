"""Schedules at concrete bounds: what runs, in which order, and what each instance needs.

Plain enumeration with `symbolic.walk.evaluate`; nothing here knows isl, so that it can check what
isl says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from tempoc.schedule.tree import Execute, Guard, Loop, Sequence, Tree
from tempoc.sdg.statements import Read, Statement, Statements
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.expr import Const, Entry, Slice
from tempoc.symbolic.walk import evaluate

Point = tuple[int, ...]
Instance = tuple[str, Point]
Cell = tuple[str, Point]


def valuations(universe: Universe, sizes: tuple[int, ...]) -> Iterator[dict[str, int]]:
    """Values of the bounds from `sizes` under which the assumptions hold; fixed ones vary too."""
    free = [b.name for b in universe.bounds if b.value is None or isinstance(b.value, Const)]
    derived = [b for b in universe.bounds if b.name not in free]
    for values in product(sizes, repeat=len(free)):
        env = dict(zip(free, values, strict=True))
        for b in derived:
            if b.value is not None:
                env[b.name] = evaluate(b.value, env)
        if min(env.values(), default=1) >= 1 and all(
            evaluate(a, env) for a in universe.assumptions
        ):
            yield env


def points(domain: Domain, universe: Universe, bounds: Mapping[str, int]) -> Iterator[Point]:
    """The points of a domain."""
    ranges = [range(bounds[universe.dim(d).bound]) for d in domain.dims]
    for point in product(*ranges):
        if evaluate(domain.where, {**bounds, **dict(zip(domain.dims, point, strict=True))}):
            yield point


def read_points(entries: tuple[Entry, ...], env: Mapping[str, int]) -> Iterator[Point]:
    """The points that an access reads; none if one of its slices is empty."""
    ranges = []
    for entry in entries:
        if isinstance(entry, Slice):
            ranges.append(range(evaluate(entry.lo, env), evaluate(entry.hi, env), entry.step))
        else:
            at = evaluate(entry, env)
            ranges.append(range(at, at + 1))
    yield from product(*ranges)


def trace(tree: Tree, env: dict[str, int]) -> Iterator[Instance]:
    """What a tree executes, in order."""
    match tree:
        case Sequence(items=items):
            for item in items:
                yield from trace(item, env)
        case Guard(condition=condition, body=body):
            if evaluate(condition, env):
                yield from trace(body, env)
        case Loop(var=var, lower=lower, upper=upper, step=step, body=body):
            for value in range(evaluate(lower, env), evaluate(upper, env), step):
                yield from trace(body, {**env, var: value})
        case Execute(statement=name, point=point):
            yield name, tuple(evaluate(p, env) for p in point)


@dataclass(frozen=True, slots=True)
class World:
    """A program at concrete bounds: its instances, who writes each cell, what each reads."""

    statements: Statements
    universe: Universe
    bounds: Mapping[str, int]

    def instances(self) -> Iterator[Instance]:
        """All points of all statements, in statement order."""
        for s in self.statements.statements:
            for point in points(s.domain, self.universe, self.bounds):
                yield s.name, point

    def at(self, s: Statement, point: Point) -> dict[str, int]:
        """The values of all symbols at a point of a statement."""
        return {**self.bounds, **dict(zip(s.domain.dims, point, strict=True))}

    def writes(self, s: Statement, point: Point) -> Iterator[Cell]:
        """The cells that an instance writes."""
        env = self.at(s, point)
        for w in s.writes:
            if evaluate(w.where, env):
                yield w.tensor, tuple(evaluate(e, env) for e in w.entries)

    def turn(self, s: Statement, point: Point) -> tuple[tuple[int, ...], int]:
        """The place of an instance in its queue: what has no index comes before every index."""
        at = dict(zip(s.domain.dims, point, strict=True))
        number = -1 if s.turn is None else s.turn.number
        return tuple(at.get(d.name, -1) for d in self.universe.dims), number

    def reads(self, s: Statement, point: Point) -> Iterator[tuple[Read, Cell]]:
        """The cells that an instance reads."""
        env = self.at(s, point)
        for read in s.reads:
            for cell in read_points(read.entries, env):
                yield read, (read.tensor, cell)
