"""A memory plan proved right for all bounds: no replay, no live ranges, nothing of the planner.

For every read of a cell, whatever the bounds are: it was written before; no other cell was written
into its slot in between; its array is not given back or given away in between; where stores grow,
there are enough rows. Each of these is a formula that must never hold. Two cells have one slot of
``m`` only if they are at least ``m`` apart: that is affine in ``m``, too, and nearly always enough;
where it is not and ``m`` is a number, remainders decide.

What is found is a proof: a tensor is ``unproved`` whenever a formula might hold, is too hard, or
has products of symbols. That does not mean that its plan is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.memory.events import (
    OTHER,
    WRITE,
    Cell,
    Event,
    Instance,
    World,
    before,
    other_in_slot,
    same_slot,
)
from tempoc.memory.storage import Axis, Plan, Store
from tempoc.poly.formulas import Formulas, GivenUp
from tempoc.schedule.tree import Tree
from tempoc.sdg.graph import Output
from tempoc.sdg.statements import Statements, Tensor
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import (
    ZERO,
    Compare,
    Const,
    Entry,
    Expr,
    Slice,
    compare,
    conjunction,
    disjunction,
    sub,
)
from tempoc.symbolic.walk import is_affine


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Which tensors never lose a value, and of the others what might happen, or why none knows."""

    proved: tuple[str, ...]
    unproved: Mapping[str, str]
    questions: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the plan is right for all bounds."""
        return not self.unproved


def prove(
    plan: Plan,
    statements: Statements,
    tree: Tree,
    outputs: Sequence[Output],
    universe: Universe,
) -> Proof:
    """Look for a proof for each tensor."""
    if any(b.outer for b in universe.ended):
        reason = "lengths vary from point to point"
        return Proof(proved=(), unproved=dict.fromkeys(statements.tensors, reason))
    world = World(plan, statements, tree, outputs, universe)
    formulas = Formulas(world.bounds, [f for f in world.facts() if is_affine(f)])
    proved: list[str] = []
    unproved: dict[str, str] = {}
    for tensor in statements.tensors.values():
        try:
            wrong = next(_Tensor(world, formulas, tensor).wrong(), None)
        except GivenUp:
            wrong = "a question about it takes too long to answer"
        if wrong is None:
            proved.append(tensor.name)
        else:
            unproved[tensor.name] = wrong
    return Proof(proved=tuple(proved), unproved=unproved, questions=formulas.asked)


class _Tensor:
    """The proof for one tensor: `wrong` says what might happen to it."""

    def __init__(self, world: World, formulas: Formulas, tensor: Tensor) -> None:
        self.world, self.formulas, self.tensor = world, formulas, tensor
        self.store: Store = world.plan.stores[tensor.name]
        keys: dict[str, Expr | None] = {
            k.dim: None if k.modulo is None else world.at_most(k.modulo) for k in self.store.keys
        }
        rings = {a.dim: world.at_most(a.size) if a.ring else None for a in self.store.axes}
        dims = tensor.domain.dims
        self.keys = tuple(keys.values())
        self.moduli = tuple({**keys, **rings}[d] for d in dims)
        self.picked = tuple(dims.index(k.dim) for k in self.store.keys)

    def wrong(self) -> Iterator[str]:
        """What might go wrong, for some bounds."""
        yield from self.side_by_side()
        reads = [*self.world.reads(self.tensor)]
        writes = [*self.world.writes(self.tensor, WRITE)]
        gone = [*self.world.gone(self.tensor)]
        if self.store.kind == "resident" or self.store.axes:
            cells = [replace(e, cells=self.key(e)) for e in (*reads, *writes)]
            yield from self.used_when_gone([*self.world.uses(self.tensor), *cells], gone)
        if self.store.kind == "resident":
            return
        yield from self.without_room()
        yield from self.not_written(reads, writes)
        yield from self.overwritten(reads, writes)
        if not self.store.axes:
            yield from self.emptied(reads, writes, gone)

    # ------------------------------------------------------------------ orders of events

    def not_written(self, reads: Sequence[Event], writes: Sequence[Event]) -> Iterator[str]:
        """Cells that are read before they are written."""
        for read in reads:
            cases = []
            for write in writes:
                same = [compare("==", a, b) for a, b in zip(read.cells, write.cells, strict=True)]
                for order in before(write.time, read.time):
                    cases.append(write.formula.having(*same, *order))
            if not self.formulas.covered(read.formula, cases):
                yield f"{read.who} may read it before it is written"

    def overwritten(self, reads: Sequence[Event], writes: Sequence[Event]) -> Iterator[str]:
        """Another cell in the slot of one that is still to be read."""
        if all(m is None for m in self.moduli):
            return
        others = [*self.world.writes(self.tensor, OTHER)]
        for read in reads:
            for write in writes:
                for other in others:
                    if self.may_overwrite(read, write, other):
                        yield f"{other.who} may overwrite it before {read.who} reads it"

    def may_overwrite(self, read: Event, write: Event, other: Event) -> bool:
        for exact in (False, True):
            if exact and not any(isinstance(m, Const) and m.value > 1 for m in self.moduli):
                return True
            ways = other_in_slot(read.cells, other.cells, self.moduli, exact=exact)
            if not any(self.stands_between(read, write, other, way) for way in ways):
                return False
        return True

    def emptied(
        self, reads: Sequence[Event], writes: Sequence[Event], gone: Sequence[Event]
    ) -> Iterator[str]:
        """A cell that is given back, or given away, while it is still to be read."""
        for end in gone:
            for read in reads:
                same = self.may_be_same(self.key(read), end.cells)
                if any(self.stands_between(read, write, end, same) for write in writes):
                    yield f"{end.who} may free it before {read.who} reads it"

    def key(self, event: Event) -> Cell:
        """The array in which a cell is."""
        return tuple(event.cells[k] for k in self.picked)

    def may_be_same(self, a: Sequence[Expr], b: Sequence[Expr]) -> tuple[Expr, ...]:
        """A condition for two keys to be of one array."""
        pairs = zip(a, b, self.keys, strict=True)
        return tuple(same_slot(x, y, m, exact=True) for x, y, m in pairs)

    def stands_between(
        self, read: Event, write: Event, other: Event, where: tuple[Expr, ...]
    ) -> bool:
        """Whether something may happen after a cell is written and before it is read."""
        same = tuple(compare("==", a, b) for a, b in zip(read.cells, write.cells, strict=True))
        for first in before(write.time, other.time, same=True):
            for second in before(other.time, read.time):
                all_three = read.formula & write.formula & other.formula
                if not self.formulas.never(all_three.having(*where, *same, *first, *second)):
                    return True
        return False

    def used_when_gone(self, uses: Sequence[Event], gone: Sequence[Event]) -> Iterator[str]:
        """An array that is taken by a kernel though it was given back, whatever is in it."""
        for end in gone:
            for use in uses:
                where = self.may_be_same(use.cells, end.cells)
                for order in before(end.time, use.time):
                    both = use.formula & end.formula
                    if not self.formulas.never(both.having(*where, *order)):
                        yield f"{end.who} may free it before {use.who} uses it"

    # ------------------------------------------------------------------ room

    def side_by_side(self) -> Iterator[str]:
        """Where several points stand side by side, slots are not used in turn."""
        rings = {a.dim for a in self.store.axes if a.ring}
        taken: list[tuple[str, tuple[Entry, ...]]] = []
        for s, write in self.world.statements.writers(self.tensor.name):
            taken.append((s.name, write.entries))
        for s, read in self.world.statements.readers(self.tensor.name):
            if s.single is not None:
                own = s.single.reads[s.reads.index(read)].entries
                pairs = zip(read.entries, own, strict=True)
                side = tuple(ZERO if isinstance(one, Slice) else e for e, one in pairs)
                taken.append((s.name, side))
        for who, entries in taken:
            for dim, e in zip(self.tensor.domain.dims, entries, strict=True):
                if dim in rings and isinstance(e, Slice):
                    yield f"{who} wants several slots of a ring side by side"

    def without_room(self) -> Iterator[str]:
        """Cells that have no slot, values that do not fit into it, rows that are not there yet."""
        dims = self.tensor.domain.dims
        for s, write in self.world.statements.writers(self.tensor.name):
            for i in self.world.instances(s.name, WRITE):
                event = self.world.write(i, self.tensor, write)
                cells = dict(zip(dims, event.cells, strict=True))
                for axis in self.store.axes:
                    if not axis.ring and not self.is_inside(event, cells[axis.dim], axis):
                        yield f"{s.name} may write where it has no slot"
                if not all(self.fits(event, e, n) for e, n in self.extents(cells)):
                    yield f"{s.name} may write a value larger than its slot"
        uses = [(s, r.entries) for s, r in self.world.statements.readers(self.tensor.name)]
        uses += [(s, w.entries) for s, w in self.world.statements.writers(self.tensor.name)]
        for s, entries in uses:
            for axis in self.store.axes:
                if axis.grows and not self.has_grown(s.name, axis, entries):
                    yield f"{s.name} may need more rows than there are"

    def extents(self, cells: Mapping[str, Expr]) -> Iterator[tuple[Expr, Expr]]:
        """How large a value is, and how large its slot."""
        for e, size in zip(self.tensor.type.shape, self.store.shape, strict=True):
            yield self.world.at(e, cells), self.world.at_most(size)

    def is_inside(self, event: Event, cell: Expr, axis: Axis) -> bool:
        size = self.world.at_most(axis.size)
        outside = disjunction(Compare("<", cell, ZERO), compare(">=", cell, size))
        return self.formulas.never(event.formula.having(outside))

    def fits(self, event: Event, e: Expr, size: Expr) -> bool:
        gap = sub(size, e)
        if isinstance(gap, Const):
            return gap.value >= 0
        return self.formulas.never(event.formula.having(compare(">", e, size)))

    def has_grown(self, statement: str, axis: Axis, entries: tuple[Entry, ...]) -> bool:
        """Whether a statement waits for all rows that one of its accesses touches."""
        needs = self.world.plan.needs.get(statement, ())
        need = next((n for n in needs if (n.dim, n.size) == (axis.dim, axis.size)), None)
        if need is None:
            return False
        k = self.tensor.domain.dims.index(axis.dim)
        for i in self.world.instances(statement, WRITE):
            event = self.world.access(i, self.tensor, entries)
            size = self.world.at_most(need.size)
            rows = [self.world.at_most(e, i.env) for e in need.rows]
            if not all(is_affine(e) for e in (size, *rows)):
                return False
            short = conjunction(*(compare(">=", event.cells[k], e) for e in rows))
            short = disjunction(short, compare(">=", event.cells[k], size))
            if not self.formulas.never(event.formula.having(short)):
                return False
            if not self.is_sure(i, need.sure, rows, size):
                return False
        return True

    def is_sure(
        self, i: Instance, sure: Sequence[Expr], rows: Sequence[Expr], size: Expr
    ) -> bool:
        """What a kernel relies on is there."""
        for e in sure:
            at = self.world.at_most(e, i.env)
            few = conjunction(*(compare(">", at, r) for r in rows))
            if not self.formulas.never(i.formula.having(disjunction(few, compare(">", at, size)))):
                return False
        return True
