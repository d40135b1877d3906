"""Schedules at concrete bounds: execution order, instances, and their reads and writes.

Plain enumeration with `symbolic.walk.evaluate`, independent of isl, in order to verify isl's
results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product

from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.sdg.statements.statements import Read, Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Point, Universe
from tempoc.symbolic.walk import evaluate, symbols

StatementInstance = tuple[str, Point]
TensorCell = tuple[str, Point]
LoopSteps = tuple[tuple[str, Point, int], ...]
LengthsAt = Mapping[tuple[str, Point], int]
"""Lengths, by bound and point of the dimensions over which they vary."""


def bound_assignments(universe: Universe, sizes: tuple[int, ...]) -> Iterator[dict[str, int]]:
    """Assignments of `sizes` to bounds that satisfy the assumptions; constant bounds vary too."""
    free = [b.name for b in universe.bounds if b.value is None or isinstance(b.value, ix.Const)]
    derived = [b for b in universe.bounds if b.name not in free]
    for values in product(sizes, repeat=len(free)):
        env = dict(zip(free, values, strict=True))
        for b in derived:
            if b.value is not None:
                env[b.name] = evaluate(b.value, env)
        if are_allowed(universe, env):
            yield env


def are_allowed(universe: Universe, bounds: Mapping[str, int]) -> bool:
    """Whether all bounds are at least 1 and the assumptions hold."""
    return min(bounds.values(), default=1) >= 1 and all(
        evaluate(a, bounds) for a in universe.assumptions
    )


def length_assignments(universe: Universe, bounds: Mapping[str, int]) -> Iterator[LengthsAt]:
    """Lengths of runs to replay, up to the given ``bounds``.

    All lengths of bounds without ``outer``; of others equal, growing and shrinking ones.
    """
    choices: list[list[LengthsAt]] = []
    for b in universe.ended:
        counts = [bounds[universe.dim(d).bound] for d in b.outer]
        points, most = list(product(*map(range, counts))), bounds[b.name]
        shapes = [[n] * len(points) for n in range(1, most + 1)]
        if b.outer:
            ramp = [1 + k % most for k in range(len(points))]
            shapes += [ramp, ramp[::-1]]
        choices.append(
            [{(b.name, p): n for p, n in zip(points, shape, strict=True)} for shape in shapes]
        )
    for selection in product(*choices):
        lengths = {key: n for part in selection for key, n in part.items()}
        allowed = (with_lengths(universe, bounds, {b: n}) for (b, _), n in lengths.items())
        if all(are_allowed(universe, env) for env in allowed):
            yield lengths


def with_lengths(
    universe: Universe, bounds: Mapping[str, int], lengths: Mapping[str, int]
) -> dict[str, int]:
    """All bounds, given the actual lengths of some."""
    values = {**bounds, **lengths}
    return values | {name: evaluate(e, values) for name, e in _derived_bounds(universe).items()}


@lru_cache
def _derived_bounds(universe: Universe) -> Mapping[str, ix.Expr]:
    """The bounds derived from lengths, as expressions over these."""
    return universe.at_lengths({b.name: ix.Sym(b.name) for b in universe.ended})


def points(domain: Domain, universe: Universe, bounds: Mapping[str, int]) -> Iterator[Point]:
    """The points of a domain."""
    ranges = [range(bounds[universe.dim(d).bound]) for d in domain.dims]
    for point in product(*ranges):
        if evaluate(domain.where, {**bounds, **domain.at(point)}):
            yield point


def accessed_points(entries: tuple[ix.Entry, ...], env: Mapping[str, int]) -> Iterator[Point]:
    """The points that an access covers; none if one of its slices is empty."""
    ranges: list[Sequence[int]] = []
    for entry in entries:
        if isinstance(entry, ix.Slice):
            ranges.append(range(evaluate(entry.lo, env), evaluate(entry.hi, env), entry.step))
        else:
            ranges.append((evaluate(entry, env),))
    yield from product(*ranges)


def execution_trace(tree: ScheduleTree, env: dict[str, int]) -> Iterator[StatementInstance]:
    """The instances that a tree executes, in order."""
    return (instance for instance, _ in stepped_trace(tree, env))


def stepped_trace(
    tree: ScheduleTree, env: dict[str, int], steps: LoopSteps = (), place: Point = ()
) -> Iterator[tuple[StatementInstance, LoopSteps]]:
    """The instances that a tree executes, in order, each with the steps that it is in.

    Of each device loop around it, the outermost first: the variable, the place of the loop,
    the value in this step.
    """
    match tree:
        case TreeSequence(items=items):
            for k, item in enumerate(items):
                yield from stepped_trace(item, env, steps, (*place, k))
        case TreeGuard(condition=condition, body=body):
            if evaluate(condition, env):
                yield from stepped_trace(body, env, steps, place)
        case TreeLoop(var=var, lower=lower, upper=upper, step=step, body=body, place=where):
            for value in range(evaluate(lower, env), evaluate(upper, env), step):
                inner = (*steps, (var, place, value)) if where == "device" else steps
                yield from stepped_trace(body, {**env, var: value}, inner, (*place, value))
        case Execute(statement=name, point=point):
            yield (name, tuple(evaluate(p, env) for p in point)), steps


def _values(e: ix.Expr, s: Statement, env: Mapping[str, int]) -> Iterator[int]:
    """The values of an expression over the vectorized points of an instance."""
    own = [v for v in s.vector if v.dim in symbols(e)]
    ranges = (range(evaluate(v.lower, env), evaluate(v.upper, env)) for v in own)
    for point in product(*ranges):
        yield evaluate(e, {**env, **dict(zip((v.dim for v in own), point, strict=True))})


@dataclass(frozen=True, slots=True)
class ConcreteProgram:
    """A program at concrete bounds: its instances, their reads and writes.

    ``ends`` has the known lengths; a bound without one stands for its largest length.
    """

    statements: Statements
    universe: Universe
    bounds: Mapping[str, int]
    ends: LengthsAt = field(default_factory=dict)
    known: dict[tuple[str, Point, int], Mapping[str, int]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    """What `at` has said, by how many lengths were known: more of them become known, none others.
    """

    def instances(self) -> Iterator[StatementInstance]:
        """All points of all statements, in statement order."""
        for s in self.statements.statements:
            for point in points(Domain(s.domain.dims), self.universe, self.bounds):
                if self.has(s, point):
                    yield s.name, point

    def has(self, s: Statement, point: Point) -> bool:
        """Whether a point is in a statement's domain."""
        env = self.at(s, point)
        inside = (env[d] < env[self.universe.dim(d).bound] for d in s.domain.dims)
        return all(inside) and bool(evaluate(s.domain.where, env))

    def at(self, s: Statement, point: Point) -> Mapping[str, int]:
        """The values of all symbols at a point of a statement."""
        key = s.name, point, len(self.ends)
        if key not in self.known:
            self.known[key] = self._at(s, point)
        return self.known[key]

    def _at(self, s: Statement, point: Point) -> Mapping[str, int]:
        env = {**self.bounds, **s.domain.at(point)}
        if not self.ends:
            return env
        lengths = {
            b.name: self.ends[key]
            for b in self.universe.ended
            if (key := (b.name, tuple(env.get(d, -1) for d in b.outer))) in self.ends
        }
        return with_lengths(self.universe, env, lengths)

    def lengths(self) -> dict[str, int]:
        """The values of all bounds, with the lengths that do not vary."""
        constant_lengths = {name: n for (name, point), n in self.ends.items() if not point}
        return with_lengths(self.universe, self.bounds, constant_lengths)

    def does(self, s: Statement, point: Point) -> tuple[object, ...]:
        """A fingerprint of an instance, as far as it depends on lengths: reads and expressions."""
        if not self.has(s, point):
            return ()
        env = self.at(s, point)
        reads = tuple(cell for _, cell in self.reads(s, point))
        return (reads, tuple(v for e in s.mentions for v in _values(e, s, env)))

    def waits(self, s: Statement, point: Point) -> Iterator[tuple[TensorCell, StatementInstance]]:
        """Dependences on lengths: the stop cells that affect an instance, and their writers."""
        if s.is_free or not self.universe.ended:
            return
        env, usual = self.at(s, point), self.does(s, point)
        for stop in self.statements.statements:
            for bound in [b for b in self.universe.ended if b.name in stop.ends]:
                outer = tuple(env.get(d, -1) for d in bound.outer)
                for n in range(1, self.bounds[bound.name]):
                    world = replace(self, ends={**self.ends, (bound.name, outer): n})
                    allowed = are_allowed(self.universe, world.at(s, point))
                    if allowed and world.does(s, point) != usual:
                        at = (*outer, n - 1)
                        yield (bound.until, at), (stop.name, at)

    def writes(self, s: Statement, point: Point) -> Iterator[TensorCell]:
        """The cells that an instance writes."""
        env = self.at(s, point)
        for w in s.writes:
            if evaluate(w.where, env):
                yield from ((w.tensor, cell) for cell in accessed_points(w.entries, env))

    def turn(self, s: Statement, point: Point) -> tuple[tuple[int, ...], int]:
        """The sort key of an effect in its queue; a missing index precedes every index."""
        at = s.domain.at(point)
        number = -1 if s.turn is None else s.turn.number
        return tuple(at.get(d.name, -1) for d in self.universe.dims), number

    def reads(self, s: Statement, point: Point) -> Iterator[tuple[Read, TensorCell]]:
        """The cells that an instance reads."""
        env = self.at(s, point)
        for read in s.reads:
            for cell in accessed_points(read.entries, env):
                yield read, (read.tensor, cell)
