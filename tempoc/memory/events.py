"""The events of a tensor with their times: reads, writes, and frees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tempoc.memory.instances import (
    END,
    OTHER,
    READ,
    AllInstances,
    CellExprs,
    Instance,
    LengthSymbol,
    Time,
)
from tempoc.memory.plan_types import MemoryPlan
from tempoc.poly.relations.formulas import Formula
from tempoc.program.nodes.buffers import Buffer
from tempoc.sdg.statements.statements import Statement, Statements, Tensor, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import substitute_entry
from tempoc.symbolic.walk import is_affine, substitute


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An access or free of ``cells`` of a tensor, or of the array with these keys.

    It happens for all values of its variables that satisfy ``formula``.
    """

    name: str
    formula: Formula
    cells: CellExprs
    time: Time
    lengths: tuple[LengthSymbol, ...] = ()
    loops: Mapping[str, int] = field(default_factory=dict)

    def step(self, var: str) -> Time:
        """The time up to the step of the loop over a variable; nothing if there is none."""
        return self.time[: self.loops.get(var, 0)]


class Events:
    """The events of one tensor under a plan.

    The phases of an instance: reads of old contents; then its members in order, each with its
    forwarded reads, then its writes; then donations; then frees.
    """

    def __init__(
        self, world: AllInstances, plan: MemoryPlan, tensor: Tensor, ending: Sequence[Statement]
    ) -> None:
        """``ending`` are the statements that free or donate arrays of the tensor."""
        self.world, self.plan, self.tensor, self.ending = world, plan, tensor, ending
        self.store: Buffer = plan.stores[tensor.name]
        self.readers = world.statements.readers(tensor.name)
        self.writers = world.statements.writers(tensor.name)
        self.outputs = [o for o in world.outputs if (o.source, o.out) == (tensor.node, tensor.out)]

    def reads(self) -> Iterator[Event]:
        """All reads of cells; outputs read at the end."""
        for s, read in self.readers:
            for i in self.world.instances(s.name, READ):
                phase = 2 * s.members.index(read.member) + 1 if read.forwarded else 0
                yield self.access(read.entries, i, (*i.time, ix.Const(phase)))
        for o in self.outputs:
            yield replace(self.access(o.entries, None, END), name=f"output {o.name}")

    def writes(self, role: str) -> Iterator[Event]:
        """All writes of cells."""
        for s, write in self.writers:
            for i in self.world.instances(s.name, role):
                yield self.write(i, write)

    def write(self, i: Instance, write: Write) -> Event:
        """The write of one instance."""
        time = (*i.time, ix.Const(2 * i.statement.members.index(write.member) + 2))
        event = self.access(write.entries, i, time)
        return replace(event, formula=event.formula.having(self.world.at(write.where, i)))

    def access(self, entries: tuple[ix.Entry, ...], i: Instance | None, time: Time) -> Event:
        """The cells of an access; without an instance, at the end."""
        known = self.world.bound_values({}) if i is None else i.values
        formula, role = (Formula(()), READ) if i is None else (i.formula, i.role)
        cells: list[ix.Expr] = []
        for k, (dim, entry) in enumerate(zip(self.tensor.domain.dims, entries, strict=True)):
            e = substitute_entry(entry, known)
            if not isinstance(e, ix.Slice) and is_affine(e):
                cells.append(e)
                continue
            cell = ix.Sym(f"{role}cell{k}")
            cells.append(cell)
            if not is_affine(e):
                # Not affine: assume that it may be any cell.
                bound = substitute(ix.Sym(self.world.universe.dim(dim).bound), known)
                formula = formula.having(ix.compare("<", cell, bound))
            if isinstance(e, ix.Slice):
                # Not simplified: `compare` takes cells for natural numbers, as symbols are.
                inside = ix.Relation("<=", e.lo, cell), ix.Relation("<", cell, e.hi)
                stride = ix.compare("==", ix.mod(ix.sub(cell, e.lo), e.step), ix.ZERO)
                formula = Formula((*formula.parts, *inside, stride), (*formula.free, cell.name))
        event = Event(name="", formula=formula, cells=tuple(cells), time=time)
        if i is None:
            return event
        return replace(event, name=i.statement.name, lengths=i.lengths, loops=i.loops)

    # ------------------------------------------------------------------ arrays

    def uses(self) -> Iterator[Event]:
        """All arrays that are passed to kernels, by key."""
        accesses = [(s, r.entries) for s, r in self.readers]
        accesses += [(s, w.entries) for s, w in self.writers]
        for s, entries in accesses:
            for i in self.world.instances(s.name, READ):
                yield _array(i, self.key(entries, i), 0)
        for o in self.outputs:
            key = self.key(o.entries, None)
            yield Event(name=f"output {o.name}", formula=Formula(()), cells=key, time=END)

    def frees(self) -> Iterator[Event]:
        """All frees and donations of arrays, by key."""
        name = self.tensor.name
        for s in self.ending:
            last = 2 * len(s.members) + 1
            for i in self.world.instances(s.name, OTHER):
                for release in self.plan.releases.get(s.name, ()):
                    if release.tensor == name:
                        key = tuple(self.world.at_most(e, i.env) for e in release.key)
                        where = self.world.at_most(release.where, i.env)
                        yield _array(i, key, last + 1, where)
                for read in s.reads if name in self.plan.donations.get(s.name, ()) else ():
                    if read.tensor == name:
                        key = self.key(read.entries, i)
                        yield _array(i, key, last, self._writes_elsewhere(i, key))

    def _writes_elsewhere(self, i: Instance, key: CellExprs) -> ix.Expr:
        """The condition that an instance writes nothing into an array: then donation frees it."""
        parts = []
        for write in i.statement.writes:
            if write.tensor == self.tensor.name and not any(
                isinstance(e, ix.Slice) for e in write.entries
            ):
                same = _same_array(self.store, key, self.key(write.entries, i))
                parts.append(ix.negation(ix.conjunction(self.world.at(write.where, i), same)))
        return ix.conjunction(*parts)

    def key(self, entries: tuple[ix.Entry, ...], i: Instance | None) -> CellExprs:
        """The key of the array that an access uses; the first one for a slice."""
        at = self.tensor.domain.at(entries)
        chosen = (at[k.dim] for k in self.store.keys)
        return tuple(self.world.at(e.lo if isinstance(e, ix.Slice) else e, i) for e in chosen)


def _array(i: Instance, key: CellExprs, phase: int, where: ix.Expr = ix.TRUE) -> Event:
    return Event(
        name=i.statement.name,
        formula=i.formula.having(where),
        cells=key,
        time=(*i.time, ix.Const(phase)),
        lengths=i.lengths,
    )


def freeing_statements(
    plan: MemoryPlan, statements: Statements
) -> dict[str, tuple[Statement, ...]]:
    """For each tensor the statements that free or donate arrays of it."""
    statements_of: dict[str, dict[str, Statement]] = {}
    for s in statements.statements:
        freed = [release.tensor for release in plan.releases.get(s.name, ())]
        for tensor in (*freed, *plan.donations.get(s.name, ())):
            statements_of.setdefault(tensor, {})[s.name] = s
    return {tensor: tuple(some.values()) for tensor, some in statements_of.items()}


# ---------------------------------------------------------------------- slots


def _same_array(store: Buffer, a: CellExprs, b: CellExprs) -> ix.Expr:
    """A condition under which two keys select one array."""
    pairs = zip(store.keys, a, b, strict=True)
    return ix.conjunction(*(ix.compare("==", x, y) for k, x, y in pairs if k.modulo != ix.ONE))


def same_slot(a: ix.Expr, b: ix.Expr, modulo: ix.Expr | None, *, exact: bool) -> ix.Expr:
    """A condition for two indices to share a slot; if not ``exact``, that they are far apart."""
    if modulo is None:
        return ix.compare("==", a, b)
    if modulo == ix.ONE:
        return ix.TRUE
    if exact and isinstance(modulo, ix.Const):
        return ix.compare("==", ix.mod(ix.sub(a, b), modulo.value), ix.ZERO)
    far = ix.compare(">=", ix.sub(a, b), modulo), ix.compare(">=", ix.sub(b, a), modulo)
    return ix.disjunction(ix.compare("==", a, b), *far)


def slot_collisions(
    a: CellExprs,
    b: CellExprs,
    moduli: Sequence[ix.Expr | None],
    every: Sequence[int],
    *,
    exact: bool,
) -> Iterator[tuple[ix.Expr, ...]]:
    """The cases in which two different cells may share a slot, as conjunctions.

    Of ``every`` so many indices along a dimension one has a slot.
    """
    pairs = tuple(zip(a, b, moduli, every, strict=True))
    for k, (x, y, modulo, few) in enumerate(pairs):
        if modulo is None and few == 1:
            continue
        outer = tuple(ix.compare("==", p, q) for p, q, _, _ in pairs[:k])
        inner = tuple(
            same_slot(ix.floordiv(p, n), ix.floordiv(q, n), m, exact=exact)
            for p, q, m, n in pairs[k + 1 :]
        )
        one_slot = same_slot(ix.floordiv(x, few), ix.floordiv(y, few), modulo, exact=True)
        exactly = (one_slot,) if exact or modulo is None else ()
        least = ix.ONE if modulo is None else modulo
        for greater, smaller in ((x, y), (y, x)):
            yield (
                *outer,
                ix.compare(">=", ix.sub(greater, smaller), least),
                *exactly,
                *inner,
            )
