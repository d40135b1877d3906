"""What happens to tensors when, for all bounds at once: reads, writes, and arrays that go.

An *event* happens for all values of its variables that its formula allows. It is about some cells,
and its time is to be compared lexicographically with that of any other event. Variables are called
after a *role*, so that formulas about different events can be put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tempoc.memory.storage import Plan
from tempoc.poly.formulas import Formula
from tempoc.poly.lengths import largest
from tempoc.schedule.tree import Execute, Guard, Loop, Tree
from tempoc.schedule.tree import Sequence as TreeSequence
from tempoc.sdg.graph import Output
from tempoc.sdg.statements import Statement, Statements, Tensor, Write
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import (
    ONE,
    TRUE,
    ZERO,
    Compare,
    Const,
    Entry,
    Expr,
    Slice,
    Sym,
    compare,
    conjunction,
    disjunction,
    mod,
    negation,
    sub,
)
from tempoc.symbolic.walk import is_affine, substitute, substitute_entry

Time = tuple[Expr, ...]
Cell = tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A place in the tree where a statement runs; ``env`` gives its dimensions in variables."""

    statement: Statement
    formula: Formula
    env: Mapping[str, Expr]
    time: Time
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens to ``cells`` (or, of arrays, their keys) of a tensor."""

    who: str
    formula: Formula
    cells: Cell
    time: Time


END: Time = (ONE,)
"""When outputs are read. All other times begin with 0."""


def before(a: Time, b: Time, *, same: bool = False) -> Iterator[tuple[Expr, ...]]:
    """The ways in which one time can come before another one (or, with ``same``, be that one)."""
    equal: tuple[Expr, ...] = ()
    for x, y in zip(a, b, strict=False):
        if isinstance(x, Const) and isinstance(y, Const):
            if x.value != y.value:
                if x.value < y.value:
                    yield equal
                return
            continue
        yield (*equal, compare("<", x, y))
        equal = (*equal, compare("==", x, y))
    if same:
        yield equal


class World:
    """The events of a program under a plan.

    Bounds that tensors end stand for their lengths, and ``most`` gives the largest ones: for these
    are loops, sizes and releases. Bounds with a value at compile time have it.
    """

    def __init__(
        self,
        plan: Plan,
        statements: Statements,
        tree: Tree,
        outputs: Sequence[Output],
        universe: Universe,
    ) -> None:
        self.plan, self.statements, self.universe = plan, statements, universe
        self.outputs = outputs
        names = largest(universe)
        self.fixed: dict[str, Expr] = {
            b.name: value
            for b in universe.bounds
            if b.name not in names and isinstance(value := universe.settled(Sym(b.name)), Const)
        }
        self.most: dict[str, Expr] = {n: universe.settled(Sym(m)) for n, m in names.items()}
        self.bounds = (*(b.name for b in universe.bounds), *names.values())
        by_name = {s.name: s for s in statements.statements}
        self._instances: dict[tuple[str, str], list[Instance]] = {}
        for role in ROLES:
            for i in self._walk(tree, role, by_name):
                self._instances.setdefault((role, i.statement.name), []).append(i)

    def facts(self) -> Iterator[Expr]:
        """What holds of the bounds."""
        for b in self.universe.bounds:
            name = Sym(b.name)
            if b.until:
                yield compare("<=", name, self.at_most(name))
            if b.value is not None:
                if not b.until:
                    yield compare("==", name, self.at(b.value))
                if b.name in self.most:
                    yield compare("==", self.at_most(name), self.at_most(b.value))
        yield from map(self.at, self.universe.assumptions)

    def at(self, e: Expr, env: Mapping[str, Expr] | None = None) -> Expr:
        """A value at a point, for the lengths that there are."""
        return substitute(e, {**self.fixed, **(env or {})})

    def at_most(self, e: Expr, env: Mapping[str, Expr] | None = None) -> Expr:
        """A value at a point, for the largest lengths."""
        return substitute(e, {**self.fixed, **self.most, **(env or {})})

    def instances(self, statement: str, role: str) -> list[Instance]:
        """All places of a statement."""
        return self._instances.get((role, statement), [])

    # ------------------------------------------------------------------ the tree

    def _walk(
        self, tree: Tree, role: str, by_name: Mapping[str, Statement]
    ) -> Iterator[Instance]:
        def inside(
            part: Tree, env: dict[str, Expr], where: tuple[Expr, ...], time: Time, depth: int = 0
        ) -> Iterator[Instance]:
            match part:
                case TreeSequence(items=items):
                    for k, item in enumerate(items):
                        yield from inside(item, env, where, (*time, Const(k)), depth)
                case Guard(condition=condition, body=body):
                    here = (*where, self.at_most(condition, env))
                    yield from inside(body, env, here, time, depth)
                case Loop():
                    var = Sym(f"{role}{depth}")
                    low, high = (self.at_most(e, env) for e in (part.lower, part.upper))
                    inner = {**env, part.var: var}
                    clock = var if part.step > 0 else var * -1
                    here = (*where, *_steps(var, low, high, part.step))
                    yield from inside(part.body, inner, here, (*time, clock), depth + 1)
                case Execute(statement=name, point=point):
                    at = tuple(self.at_most(e, env) for e in point)
                    yield self._instance(by_name[name], at, where, time, role)

        yield from inside(tree, {}, (), (ZERO,))

    def _instance(
        self, s: Statement, at: Cell, where: tuple[Expr, ...], time: Time, role: str
    ) -> Instance:
        env = dict(zip(s.domain.dims, at, strict=True))
        inside = [
            compare("<", e, self.at(Sym(self.universe.dim(d).bound))) for d, e in env.items()
        ]
        has = (*inside, self.at(s.domain.where, env))
        return Instance(
            statement=s, formula=Formula((*where, *has)), env=env, time=time, role=role
        )

    # ------------------------------------------------------------------ events

    def reads(self, tensor: Tensor) -> Iterator[Event]:
        """All reads of cells, with those of outputs in the end."""
        for s, read in self.statements.readers(tensor.name):
            for i in self.instances(s.name, READ):
                member = s.members.index(read.member) if read.forwarded else None
                phase = 0 if member is None else 2 * member + 1
                time = (*i.time, Const(phase))
                yield self._event(s.name, i.formula, tensor, read.entries, i.env, time, READ)
        for output in self.outputs:
            if (output.source, output.out) == (tensor.node, tensor.out):
                who, entries = f"output {output.name}", output.entries
                yield self._event(who, Formula(()), tensor, entries, {}, END, READ)

    def uses(self, tensor: Tensor) -> Iterator[Event]:
        """All arrays that kernels are given, whatever they read or write in them, by key."""
        accesses = [(s, r.entries) for s, r in self.statements.readers(tensor.name)]
        accesses += [(s, w.entries) for s, w in self.statements.writers(tensor.name)]
        for s, entries in accesses:
            for i in self.instances(s.name, READ):
                key = self.key(tensor, entries, i.env)
                yield Event(who=s.name, formula=i.formula, cells=key, time=(*i.time, ZERO))
        for output in self.outputs:
            if (output.source, output.out) == (tensor.node, tensor.out):
                key = self.key(tensor, output.entries, {})
                who = f"output {output.name}"
                yield Event(who=who, formula=Formula(()), cells=key, time=END)

    def writes(self, tensor: Tensor, role: str) -> Iterator[Event]:
        """All writes of cells."""
        for s, write in self.statements.writers(tensor.name):
            for i in self.instances(s.name, role):
                yield self.write(i, tensor, write)

    def write(self, i: Instance, tensor: Tensor, write: Write) -> Event:
        """What one instance writes."""
        s = i.statement
        formula = i.formula.having(self.at(write.where, i.env))
        time = (*i.time, Const(2 * s.members.index(write.member) + 2))
        return self._event(s.name, formula, tensor, write.entries, i.env, time, i.role)

    def access(self, i: Instance, tensor: Tensor, entries: tuple[Entry, ...]) -> Event:
        """An access of one instance, as if at its beginning."""
        return self._event(i.statement.name, i.formula, tensor, entries, i.env, i.time, i.role)

    def _event(
        self,
        who: str,
        formula: Formula,
        tensor: Tensor,
        entries: tuple[Entry, ...],
        env: Mapping[str, Expr],
        time: Time,
        role: str,
    ) -> Event:
        cells: list[Expr] = []
        for k, (dim, entry) in enumerate(zip(tensor.domain.dims, entries, strict=True)):
            e = substitute_entry(entry, {**self.fixed, **env})
            if not isinstance(e, Slice) and is_affine(e):
                cells.append(e)
                continue
            cell = Sym(f"{role}cell{k}")
            cells.append(cell)
            if not is_affine(e):
                # Any cell there is may be the one.
                bound = self.at(Sym(self.universe.dim(dim).bound))
                formula = formula.having(compare("<", cell, bound))
            if isinstance(e, Slice):
                # Not simplified: `compare` takes cells for natural numbers, as symbols are.
                inside = Compare("<=", e.lo, cell), Compare("<", cell, e.hi)
                stride = compare("==", mod(sub(cell, e.lo), e.step), ZERO)
                formula = Formula((*formula.parts, *inside, stride), (*formula.free, cell.name))
        return Event(who=who, formula=formula, cells=tuple(cells), time=time)

    def gone(self, tensor: Tensor) -> Iterator[Event]:
        """When arrays are given back, or given away; ``cells`` are their keys."""
        for s in self.statements.statements:
            for release in self.plan.releases.get(s.name, ()):
                if release.tensor == tensor.name:
                    for i in self.instances(s.name, OTHER):
                        where = self.at_most(release.where, i.env)
                        yield Event(
                            who=s.name,
                            formula=i.formula.having(where),
                            cells=tuple(self.at_most(e, i.env) for e in release.key),
                            time=(*i.time, Const(2 * len(s.members) + 2)),
                        )
            if tensor.name in self.plan.donations.get(s.name, ()):
                for i in self.instances(s.name, OTHER):
                    yield from self._given_away(i, tensor)

    def _given_away(self, i: Instance, tensor: Tensor) -> Iterator[Event]:
        """An array that a statement reads is gone, unless it also writes into it."""
        s = i.statement
        for read in s.reads:
            if read.tensor == tensor.name:
                key = self.key(tensor, read.entries, i.env)
                formula = i.formula
                for write in s.writes:
                    if write.tensor == tensor.name:
                        own = self.key(tensor, write.entries, i.env)
                        same = self._surely_same(tensor, key, own)
                        does = conjunction(self.at(write.where, i.env), same)
                        if not any(isinstance(e, Slice) for e in write.entries):
                            formula = formula.having(negation(does))
                time = (*i.time, Const(2 * len(s.members) + 1))
                yield Event(who=s.name, formula=formula, cells=key, time=time)

    def key(
        self, tensor: Tensor, entries: tuple[Entry, ...], env: Mapping[str, Expr]
    ) -> Cell:
        """The array that an access takes; of several the first."""
        at = dict(zip(tensor.domain.dims, entries, strict=True))
        chosen = (at[k.dim] for k in self.plan.stores[tensor.name].keys)
        return tuple(self.at(e.lo if isinstance(e, Slice) else e, env) for e in chosen)

    def _surely_same(self, tensor: Tensor, a: Cell, b: Cell) -> Expr:
        """A condition under which two keys are of one array."""
        keys = self.plan.stores[tensor.name].keys
        pairs = zip(keys, a, b, strict=True)
        return conjunction(*(compare("==", x, y) for k, x, y in pairs if k.modulo != ONE))


READ, WRITE, OTHER = ROLES = ("r", "w", "q")


def _steps(var: Sym, low: Expr, high: Expr, step: int) -> tuple[Expr, ...]:
    """The values of a loop's variable."""
    stride = compare("==", mod(sub(var, low), abs(step)), ZERO)
    if step > 0:
        return compare(">=", var, low), compare("<", var, high), stride
    return compare("<=", var, low), compare(">", var, high), stride


def same_slot(a: Expr, b: Expr, modulo: Expr | None, *, exact: bool) -> Expr:
    """Whether two indices may have one slot: if not ``exact``, whenever they are far apart."""
    if modulo is None:
        return compare("==", a, b)
    if modulo == ONE:
        return TRUE
    if exact and isinstance(modulo, Const):
        return compare("==", mod(sub(a, b), modulo.value), ZERO)
    far = compare(">=", sub(a, b), modulo), compare(">=", sub(b, a), modulo)
    return disjunction(compare("==", a, b), *far)


def other_in_slot(
    a: Cell, b: Cell, moduli: Sequence[Expr | None], *, exact: bool
) -> Iterator[tuple[Expr, ...]]:
    """The ways in which two different cells may have one slot."""
    pairs = tuple(zip(a, b, moduli, strict=True))
    for k, (x, y, modulo) in enumerate(pairs):
        if modulo is None:
            continue
        first = tuple(compare("==", p, q) for p, q, _ in pairs[:k])
        rest = tuple(same_slot(p, q, m, exact=exact) for p, q, m in pairs[k + 1 :])
        own = (same_slot(x, y, modulo, exact=True),) if exact else ()
        for more, less in ((x, y), (y, x)):
            yield (*first, compare(">=", sub(more, less), modulo), *own, *rest)
