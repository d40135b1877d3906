"""Proves a memory plan correct for all bounds, independently of the planner and its live ranges.

The proof obligations for every read of a cell: it was written before; no other cell was written
into its slot in between; its array was not freed or donated in between, nor made anew by another
step of a loop; growing stores have enough rows. Each violation is a formula that must be
unsatisfiable. Two cells share one of ``m`` slots only if they are at least ``m`` apart; this
condition is affine even for symbolic ``m``, and nearly always sufficient. Where it is not, and
``m`` is constant, the exact condition on remainders decides.

The proof is sound and incomplete: a tensor is ``unproved`` if a formula is satisfiable, too hard,
or involves products of symbols. Its plan may still be correct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.memory import instances
from tempoc.memory.events import Event, Events, freeing_statements, same_slot, slot_collisions
from tempoc.memory.plan_types import CapacityUse, MemoryPlan
from tempoc.poly.relations.formulas import Formulas, StepLimitExceeded
from tempoc.program.nodes.buffers import BufferAxis
from tempoc.schedule.tree import ScheduleTree
from tempoc.sdg.graph.graph import Output
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import is_affine, substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """For tensors that are not proved correct a possible violation, or why that is unknown."""

    unproved: Mapping[str, str]

    @property
    def is_whole(self) -> bool:
        """Whether the plan is proved for all tensors."""
        return not self.unproved


def prove(
    plan: MemoryPlan,
    statements: Statements,
    tree: ScheduleTree,
    outputs: Sequence[Output],
    universe: Universe,
) -> Proof:
    """Try to prove the plan, tensor by tensor."""
    return Prover(statements, tree, outputs, universe).prove(plan)


class Prover:
    """Proofs for plans of one program; results of formulas are shared between plans."""

    def __init__(
        self,
        statements: Statements,
        tree: ScheduleTree,
        outputs: Sequence[Output],
        universe: Universe,
    ) -> None:
        """Collect the instances and the constraints on bounds."""
        self.world = instances.AllInstances(statements, tree, outputs, universe)
        facts = [f for f in self.world.facts() if is_affine(f)]
        self.formulas = Formulas(self.world.bounds, facts)

    def prove(self, plan: MemoryPlan) -> Proof:
        """Try to prove the plan, tensor by tensor."""
        unproved: dict[str, str] = {}
        ending = freeing_statements(plan, self.world.statements)
        for tensor in self.world.statements.tensors.values():
            events = Events(self.world, plan, tensor, ending.get(tensor.name, ()))
            wrong = self._failure(plan, events)
            if wrong is not None:
                unproved[tensor.name] = wrong
        return Proof(unproved=unproved)

    def _failure(self, plan: MemoryPlan, events: Events) -> str | None:
        if self.formulas.contradict():
            return "no bounds are allowed"
        try:
            return next(_TensorProof(self.world, plan, self.formulas, events).failures(), None)
        except StepLimitExceeded:
            return "it is too hard to tell"


class _TensorProof:
    """The proof for one tensor: `failures` yields the possible violations."""

    def __init__(
        self, world: instances.AllInstances, plan: MemoryPlan, formulas: Formulas, events: Events
    ) -> None:
        self.world, self.plan, self.formulas, self.events = world, plan, formulas, events
        self.tensor, self.store = events.tensor, events.store
        keys: dict[str, ix.Expr | None] = {
            k.dim: None if k.modulo is None else world.at_most(k.modulo) for k in self.store.keys
        }
        rings = {a.dim: world.at_most(a.size) if a.ring else None for a in self.store.axes}
        dims = self.tensor.domain.dims
        self.keys = tuple(keys.values())
        self.moduli = tuple({**keys, **rings}[d] for d in dims)
        few = {a.dim: a.every for a in self.store.axes}
        self.every = tuple(few.get(d, 1) for d in dims)
        self.picked = tuple(dims.index(k.dim) for k in self.store.keys)

    def failures(self) -> Iterator[str]:
        """The possible violations, for some bounds."""
        yield from self.sliced_rings()
        reads, writes = [*self.events.reads()], [*self.events.writes(instances.WRITE)]
        gone = [*self.events.frees()]
        is_stored = not self.tensor.is_given
        if self.store.axes or not is_stored:
            cells = [replace(e, cells=self.key(e)) for e in (*reads, *writes)]
            yield from self.used_after_free([*self.events.uses(), *cells], gone)
        if is_stored:
            yield from self.out_of_bounds()
            yield from self.unwritten_reads(reads, writes)
            yield from self.overwritten(reads, writes)
            yield from self.other_steps(reads, writes)
            if not self.store.axes:
                yield from self.freed_early(reads, writes, gone)

    # ------------------------------------------------------------------ orders of events

    def unwritten_reads(self, reads: Sequence[Event], writes: Sequence[Event]) -> Iterator[str]:
        """Reads of cells that may not have been written."""
        for read in reads:
            lengths_at = self.lengths_of(read)
            domain = read.formula.having(
                *self.world.facts_of(lengths_at), *instances.same_lengths(read.lengths, lengths_at)
            )
            cases = []
            for write in writes:
                same = _equal(read.cells, write.cells)
                for lengths in _length_equalities(
                    self.relevant_lengths(write), lengths_at, read.lengths
                ):
                    for order in instances.orderings(write.time, read.time):
                        cases.append(write.formula.having(*same, *lengths, *order))
            if not self.formulas.covered(domain, cases):
                yield f"{read.name} may read it before it is written"

    def relevant_lengths(self, write: Event) -> tuple[instances.LengthSymbol, ...]:
        """The lengths that the domain or the cells of a write depend on."""
        if not write.lengths:
            return ()
        facts = [*self.world.facts_of(write.lengths)]
        conditions = [p for p in write.formula.parts if p not in facts]
        names = [n for e in (*conditions, *write.cells) for n in symbols(e)]
        return tuple(n for n in write.lengths if n.value.name in names)

    def lengths_of(self, read: Event) -> tuple[instances.LengthSymbol, ...]:
        """The lengths at the point of a cell, as far as its indices determine that point."""
        at = self.tensor.domain.at(read.cells)
        return tuple(
            instances.LengthSymbol(
                bound=b.name,
                point=tuple(at[d] for d in b.outer),
                value=ix.Sym(f"cell{b.name}"),
            )
            for b in self.world.varying
            if all(d in at for d in b.outer)
        )

    def overwritten(self, reads: Sequence[Event], writes: Sequence[Event]) -> Iterator[str]:
        """Writes of another cell into the slot of a cell that is still live."""
        if all(m is None for m in self.moduli) and max(self.every, default=1) == 1:
            return
        others = [*self.events.writes(instances.OTHER)]
        for read, write in self.pairs(reads, writes):
            for other in others:
                if self.may_overwrite(read, write, other):
                    yield f"{other.name} may overwrite it before {read.name} reads it"

    def may_overwrite(self, read: Event, write: Event, other: Event) -> bool:
        """Whether ``other`` may overwrite the slot between ``write`` and ``read``.

        Tries the affine condition first, then the exact one.
        """
        for exact in (False, True):
            if exact and not any(isinstance(m, ix.Const) and m.value > 1 for m in self.moduli):
                return True
            collisions = slot_collisions(
                read.cells, other.cells, self.moduli, self.every, exact=exact
            )
            if not any(self.stands_between(read, write, other, c) for c in collisions):
                return False
        return True

    def freed_early(
        self, reads: Sequence[Event], writes: Sequence[Event], gone: Sequence[Event]
    ) -> Iterator[str]:
        """Frees and donations of a cell that is still live."""
        for read, write in self.pairs(reads, writes) if gone else ():
            for end in gone:
                same = self.may_be_same(self.key(read), end.cells)
                if self.stands_between(read, write, end, same):
                    yield f"{end.name} may free it before {read.name} reads it"

    def other_steps(self, reads: Sequence[Event], writes: Sequence[Event]) -> Iterator[str]:
        """Reads of a cell that another step wrote, of an array that each step makes."""
        var = self.plan.step_local.get(self.tensor.name)
        if var is None:
            return
        for read, write in self.pairs(reads, writes):
            mine, other = read.step(var), write.step(var)
            if not mine or len(mine) != len(other):
                yield f"{read.name} or {write.name} is in no step of {var}"
                continue
            same = (
                *_equal(read.cells, write.cells),
                *instances.same_lengths(read.lengths, write.lengths),
            )
            both = (read.formula & write.formula).having(*same)
            apart = ix.disjunction(*(ix.negation(e) for e in _equal(mine, other)))
            if not self.formulas.never(both.having(apart)):
                yield f"{read.name} may read it in another step of {var} than {write.name}"

    def pairs(
        self, reads: Sequence[Event], writes: Sequence[Event]
    ) -> Iterator[tuple[Event, Event]]:
        """Pairs of a read and a write that may be of the same cell."""
        for read in reads:
            for write in writes:
                same = (
                    *_equal(read.cells, write.cells),
                    *instances.same_lengths(read.lengths, write.lengths),
                )
                both = (read.formula & write.formula).having(*same)
                if not self.formulas.never(both):
                    yield read, write

    def stands_between(
        self, read: Event, write: Event, other: Event, where: tuple[ix.Expr, ...]
    ) -> bool:
        """Whether ``other`` may happen between ``write`` and ``read`` of the same cell."""
        all_three = read.formula & write.formula & other.formula
        for a, b in ((read, write), (write, other), (read, other)):
            all_three = all_three.having(*instances.same_lengths(a.lengths, b.lengths))
        same = _equal(read.cells, write.cells)
        for first in instances.orderings(write.time, other.time, same=True):
            for second in instances.orderings(other.time, read.time):
                when = (*where, *same, *first, *second)
                if not self.formulas.never(all_three.having(*when)):
                    return True
        return False

    def used_after_free(self, uses: Sequence[Event], gone: Sequence[Event]) -> Iterator[str]:
        """Arrays that are passed to a kernel after they were freed, even if it reads nothing."""
        for end in gone:
            for use in uses:
                where = self.may_be_same(use.cells, end.cells)
                both = (use.formula & end.formula).having(
                    *instances.same_lengths(use.lengths, end.lengths)
                )
                for order in instances.orderings(end.time, use.time):
                    if not self.formulas.never(both.having(*where, *order)):
                        yield f"{end.name} may free it before {use.name} uses it"

    def key(self, event: Event) -> instances.CellExprs:
        """The key of a cell's array."""
        return tuple(event.cells[k] for k in self.picked)

    def may_be_same(self, a: Sequence[ix.Expr], b: Sequence[ix.Expr]) -> tuple[ix.Expr, ...]:
        """A condition for two keys to select one array."""
        pairs = zip(a, b, self.keys, strict=True)
        return tuple(same_slot(x, y, m, exact=True) for x, y, m in pairs)

    # ------------------------------------------------------------------ capacity

    def sliced_rings(self) -> Iterator[str]:
        """Accesses of several slots that may not be there side by side.

        Vectorized ones of rings, and any of an axis on which only some points have slots.
        """
        few = [a.dim for a in self.store.axes if a.every > 1]
        uses = [(s.name, read.entries) for s, read in self.events.readers]
        uses += [(s.name, write.entries) for s, write in self.events.writers]
        for name, entries in uses:
            at = self.tensor.domain.at(entries)
            if any(isinstance(at[d], ix.Slice) for d in few):
                yield f"{name} wants several slots of an axis on which few points have one"
        rings = [a.dim for a in self.store.axes if a.ring]
        taken = [(s.name, write.entries) for s, write in self.events.writers]
        for s, read in self.events.readers:
            if s.single is not None:
                own = s.single.reads[s.reads.index(read)].entries
                pairs = zip(read.entries, own, strict=True)
                side = tuple(ix.ZERO if isinstance(one, ix.Slice) else e for e, one in pairs)
                taken.append((s.name, side))
        for name, entries in taken:
            for dim, e in zip(self.tensor.domain.dims, entries, strict=True):
                if dim in rings and isinstance(e, ix.Slice):
                    yield f"{name} wants several slots of a ring side by side"

    def out_of_bounds(self) -> Iterator[str]:
        """Cells without a slot, values larger than their slot, rows beyond the capacity."""
        for s, write in self.events.writers:
            for i in self.world.instances(s.name, instances.WRITE):
                event = self.events.write(i, write)
                cells = self.tensor.domain.at(event.cells)
                for axis in self.store.axes:
                    if not axis.ring and not self.is_inside(event, cells[axis.dim], axis):
                        yield f"{s.name} may write where it has no slot"
                if not all(self.fits(event, e, n) for e, n in self.extents(i, cells)):
                    yield f"{s.name} may write a value larger than its slot"
        uses = [(s.name, read.entries) for s, read in self.events.readers]
        uses += [(s.name, write.entries) for s, write in self.events.writers]
        for name, entries in uses:
            for axis in self.store.axes:
                if axis.grows and not self.has_grown(name, axis, entries):
                    yield f"{name} may need more rows than there are"

    def extents(
        self, i: instances.Instance, cells: Mapping[str, ix.Expr]
    ) -> Iterator[tuple[ix.Expr, ix.Expr]]:
        """For each spatial axis the extent of a value and that of its slot."""
        for e, size in zip(self.tensor.type.shape, self.store.shape, strict=True):
            yield substitute(e, {**i.values, **cells}), self.world.at_most(size)

    def is_inside(self, event: Event, cell: ix.Expr, axis: BufferAxis) -> bool:
        """Whether an axis has a slot for a cell."""
        size = self.world.at_most(axis.size)
        last = ix.compare(">=", ix.floordiv(cell, axis.every), size)
        outside = ix.disjunction(ix.Relation("<", cell, ix.ZERO), last)
        return self.formulas.never(event.formula.having(outside))

    def fits(self, event: Event, e: ix.Expr, size: ix.Expr) -> bool:
        """Whether an extent is at most ``size``: first by interval arithmetic, then by isl."""
        more: dict[str, ix.Expr] = {name: ix.Sym(name) + 1 for name in self.world.bounds}
        least = ix.interval(substitute(ix.sub(size, e), more))[0]
        if least is not None and least >= 0:
            return True
        return self.formulas.never(event.formula.having(ix.compare(">", e, size)))

    def has_grown(self, statement: str, axis: BufferAxis, entries: tuple[ix.Entry, ...]) -> bool:
        """Whether a statement's capacity uses cover all rows of one of its accesses."""
        k = self.tensor.domain.dims.index(axis.dim)
        for need in self.plan.needs.get(statement, ()):
            if (need.dim, need.size) == (axis.dim, axis.size):
                return all(
                    self.is_enough(i, need, self.events.access(entries, i, i.time), k)
                    for i in self.world.instances(statement, instances.WRITE)
                )
        return False

    def is_enough(self, i: instances.Instance, need: CapacityUse, event: Event, k: int) -> bool:
        """Whether a capacity use covers the rows of an access and those that the kernel assumes."""
        size = self.world.at_most(need.size)
        rows = [self.world.at_most(e, i.env) for e in need.rows]
        if not all(is_affine(e) for e in (size, *rows)):
            return False
        last = [(event.formula, event.cells[k] + 1)]
        last += [(i.formula, self.world.at_most(e, i.env)) for e in need.sure]
        for formula, e in last:
            few = ix.conjunction(*(ix.compare(">", e, n) for n in rows))
            if not self.formulas.never(
                formula.having(ix.disjunction(few, ix.compare(">", e, size)))
            ):
                return False
        return True


def _equal(a: instances.CellExprs, b: instances.CellExprs) -> tuple[ix.Expr, ...]:
    return tuple(ix.compare("==", x, y) for x, y in zip(a, b, strict=True))


def _length_equalities(
    own: Sequence[instances.LengthSymbol], *others: Sequence[instances.LengthSymbol]
) -> Iterator[tuple[ix.Expr, ...]]:
    """For each of ``others`` that has all bounds of ``own``: equal points and equal lengths."""
    if not own:
        yield ()
        return
    for lengths in others:
        at = {n.bound: n for n in lengths}
        if all(n.bound in at for n in own):
            yield tuple(
                e
                for n in own
                for e in (
                    *_equal(n.point, at[n.bound].point),
                    ix.compare("==", n.value, at[n.bound].value),
                )
            )
