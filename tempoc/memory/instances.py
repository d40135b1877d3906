"""Statement instances with their domains and times as formulas, for all bounds at once.

Taken from the schedule tree alone. The variables of a formula are prefixed by a *role*, so that
formulas about different instances can be conjoined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.poly.relations.formulas import Formula
from tempoc.poly.relations.run_lengths import largest
from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.sdg.graph.graph import Output
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import substitute

Time = tuple[ix.Expr, ...]
CellExprs = tuple[ix.Expr, ...]

READ, WRITE, OTHER = ROLES = ("r", "w", "q")
END: Time = (ix.ONE,)
"""The time at which outputs are read. All other times begin with 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSymbol:
    """The length that a bound has at a point of the dimensions over which it varies."""

    bound: str
    point: CellExprs
    value: ix.Sym


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An execution of a statement in the tree, for all values that satisfy ``formula``.

    ``env`` maps its dimensions to expressions over variables, ``values`` also bounds. ``loops``
    has for the variable of each device loop around it how much of ``time`` is one step of it.
    """

    statement: Statement
    formula: Formula
    env: Mapping[str, ix.Expr]
    values: Mapping[str, ix.Expr]
    lengths: tuple[LengthSymbol, ...]
    time: Time
    role: str
    loops: Mapping[str, int]


class AllInstances:
    """All instances of a program, and the constraints on its bounds.

    A bound that is found at run time stands for its length; ``most`` has the largest lengths, which
    loops, sizes and releases use. A length that varies with the point is a variable of each
    instance. Bounds that are constant at compile time are replaced by their values.
    """

    def __init__(
        self,
        statements: Statements,
        tree: ScheduleTree,
        outputs: Sequence[Output],
        universe: Universe,
    ) -> None:
        self.statements, self.outputs, self.universe = statements, outputs, universe
        names = largest(universe)
        self.fixed: dict[str, ix.Expr] = {
            b.name: value
            for b in universe.bounds
            if b.name not in names
            and isinstance(value := universe.settled(ix.Sym(b.name)), ix.Const)
        }
        self.most: dict[str, ix.Expr] = {name: ix.Sym(most) for name, most in names.items()}
        self.varying = tuple(b for b in universe.ended if b.outer)
        self.bounds = (*(b.name for b in universe.bounds), *names.values())
        by_name = {s.name: s for s in statements.statements}
        self._instances: dict[tuple[str, str], list[Instance]] = {}
        for role in ROLES:
            for i in self._walk(tree, role, by_name):
                self._instances.setdefault((role, i.statement.name), []).append(i)

    def instances(self, statement: str, role: str) -> list[Instance]:
        """All executions of a statement in the tree."""
        return self._instances.get((role, statement), [])

    # ------------------------------------------------------------------ bounds

    def facts(self) -> Iterator[ix.Expr]:
        """The constraints on the bounds."""
        for b in self.universe.bounds:
            if b.until:
                yield ix.compare("<=", ix.Sym(b.name), self.most[b.name])
            if b.value is not None:
                if not b.until:
                    yield ix.compare("==", ix.Sym(b.name), self.at(b.value))
                if b.name in self.most:
                    yield ix.compare("==", self.most[b.name], self.at_most(b.value))
        yield from map(self.at, self.universe.assumptions)

    def facts_of(self, lengths: Sequence[LengthSymbol]) -> Iterator[ix.Expr]:
        """The constraints on lengths that vary with the point."""
        if lengths:
            known = self.bound_values({n.bound: n.value for n in lengths})
            for n in lengths:
                yield ix.compare("<=", n.value, self.most[n.bound])
            for name in self.universe.lengths:
                yield ix.compare(">=", known[name], ix.ONE)
            yield from (substitute(a, known) for a in self.universe.assumptions)

    def bound_values(self, lengths: Mapping[str, ix.Expr]) -> Mapping[str, ix.Expr]:
        """The values of bounds, given the ``lengths`` of those that vary with the point."""
        if not self.varying:
            return self.fixed
        own = {b.name: ix.Sym(b.name) for b in self.universe.ended if not b.outer}
        most = {b.name: lengths.get(b.name, self.most[b.name]) for b in self.varying}
        return {**self.fixed, **self.universe.at_lengths({**own, **most})}

    def at(self, e: ix.Expr, i: Instance | None = None) -> ix.Expr:
        """An expression at an instance, for its lengths; without one, at the end."""
        return substitute(e, self.bound_values({}) if i is None else i.values)

    def at_most(self, e: ix.Expr, env: Mapping[str, ix.Expr] | None = None) -> ix.Expr:
        """An expression at a point, for the largest lengths."""
        return substitute(e, {**self.fixed, **self.most, **(env or {})})

    # ------------------------------------------------------------------ the tree

    def _walk(
        self, tree: ScheduleTree, role: str, by_name: Mapping[str, Statement]
    ) -> Iterator[Instance]:
        def inside(
            part: ScheduleTree,
            env: dict[str, ix.Expr],
            where: tuple[ix.Expr, ...],
            time: Time,
            depth: int,
            loops: Mapping[str, int],
        ) -> Iterator[Instance]:
            match part:
                case TreeSequence(items=items):
                    for k, item in enumerate(items):
                        yield from inside(item, env, where, (*time, ix.Const(k)), depth, loops)
                case TreeGuard(condition=condition, body=body):
                    conditions = (*where, self.at_most(condition, env))
                    yield from inside(body, env, conditions, time, depth, loops)
                case TreeLoop():
                    var = ix.Sym(f"{role}{depth}")
                    low, high = (self.at_most(e, env) for e in (part.lower, part.upper))
                    inner = {**env, part.var: var}
                    clock = var if part.step > 0 else var * -1
                    conditions = (*where, *_loop_values(var, low, high, part.step))
                    step = {part.var: len(time) + 1} if part.place == "device" else {}
                    now, around = (*time, clock), {**loops, **step}
                    yield from inside(part.body, inner, conditions, now, depth + 1, around)
                case Execute(statement=name, point=point):
                    at = tuple(self.at_most(e, env) for e in point)
                    instance = self._instance(by_name[name], at, where, time, role)
                    yield replace(instance, loops=loops)

        yield from inside(tree, {}, (), (ix.ZERO,), 0, {})

    def _instance(
        self, s: Statement, at: CellExprs, where: tuple[ix.Expr, ...], time: Time, role: str
    ) -> Instance:
        env = s.domain.at(at)
        lengths = tuple(
            LengthSymbol(
                bound=b.name,
                point=tuple(env[d] for d in b.outer),
                value=ix.Sym(f"{role}{b.name}"),
            )
            for b in self.varying
            if all(d in env for d in b.outer)
        )
        known = {**self.bound_values({n.bound: n.value for n in lengths}), **env}
        bounds = {d: ix.Sym(self.universe.dim(d).bound) for d in env}
        inside = [ix.compare("<", e, substitute(bounds[d], known)) for d, e in env.items()]
        has = (*inside, substitute(s.domain.where, known), *self.facts_of(lengths))
        return Instance(
            statement=s,
            formula=Formula((*where, *has)),
            env=env,
            values=known,
            lengths=lengths,
            time=time,
            role=role,
            loops={},
        )


def _loop_values(var: ix.Sym, low: ix.Expr, high: ix.Expr, step: int) -> tuple[ix.Expr, ...]:
    """The values of a loop's variable."""
    stride = ix.compare("==", ix.mod(ix.sub(var, low), abs(step)), ix.ZERO)
    if step > 0:
        return ix.compare(">=", var, low), ix.compare("<", var, high), stride
    return ix.compare("<=", var, low), ix.compare(">", var, high), stride


def orderings(a: Time, b: Time, *, same: bool = False) -> Iterator[tuple[ix.Expr, ...]]:
    """The cases of the lexicographic order ``a < b`` (with ``same``, ``a <= b``): conjunctions."""
    equal: tuple[ix.Expr, ...] = ()
    for x, y in zip(a, b, strict=False):
        if isinstance(x, ix.Const) and isinstance(y, ix.Const):
            if x.value != y.value:
                if x.value < y.value:
                    yield equal
                return
            continue
        yield (*equal, ix.compare("<", x, y))
        equal = (*equal, ix.compare("==", x, y))
    if same:
        yield equal


def same_lengths(a: Sequence[LengthSymbol], b: Sequence[LengthSymbol]) -> Iterator[ix.Expr]:
    """The constraints that a bound has the same length at equal points."""
    for x in a:
        for y in b:
            if x.bound == y.bound:
                apart = (ix.compare("!=", p, q) for p, q in zip(x.point, y.point, strict=True))
                yield ix.disjunction(*apart, ix.compare("==", x.value, y.value))
