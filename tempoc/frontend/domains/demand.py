"""Where each node is needed: exactly at the points at which something reads it.

Tensors of the program have their domains from their equations. Everything in between is needed
where its readers read it: a guard or the first match of an equation reaches all parts of its right
side. Recurrences inside of functions read themselves: their demand is the least that is closed
under their own reads, found by repetition, or all that they define where that takes too long.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tempoc.frontend.declarations.outputs import OutputRead
from tempoc.frontend.domains.empty_slices import fill_in
from tempoc.frontend.domains.reachable import components
from tempoc.frontend.environment.draft_node import Draft, Wire
from tempoc.frontend.environment.round import Round
from tempoc.ops.control.control import Merge
from tempoc.poly.relations.run_lengths import moves_elsewhere
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import FALSE, TRUE, Entry, Expr, Slice, Sym, conjunction

SWEEPS = 4
"""How often the demand of a recurrence is carried around its cycle before we take all of it."""


def place(round: Round, results: list[OutputRead]) -> list[Draft]:
    """Set `where` of all nodes that the tensors and the outputs need; these nodes, as they came."""
    roots = [d for d in round.drafts if d.role == "root"]
    starts = [*roots, *(r.ref.draft for r in results)]
    demand = _PointDemand(round)
    for root in roots:
        root.where = root.defined
        if isinstance(root.op, Merge):
            demand.drop_unused(root, root.op)
    for result in results:
        demand.add(Domain(()), result.entries, result.ref.draft)
    for root in roots:
        demand.read_by(root)
    for group in components(starts):
        demand.settle(group)
    kept = dict.fromkeys(roots)
    kept.update(dict.fromkeys(d for d in demand.found if d.where != FALSE))
    fill_in(round, kept)
    return [d for d in round.drafts if d in kept]


def sink_of(round: Round, draft: Draft, wire: Wire) -> Domain:
    """The points at which an operand is read."""
    if wire.guard == TRUE:
        return Domain(draft.dims, draft.where)
    there, guarded = round.space.symbolic, Domain(draft.dims, wire.guard)
    if draft.where == TRUE:
        return guarded
    if draft.role == "root" and there.implies(guarded, draft.where):
        return guarded  # a branch of a definition, not of an `if` in one that has a guard
    where = conjunction(draft.where, wire.guard)
    return Domain(draft.dims, there.simplify(where, Domain(draft.dims)))


@dataclass(slots=True)
class _PointDemand:
    """The points asked for so far, of every node that is no root."""

    round: Round
    found: dict[Draft, Expr] = field(default_factory=dict)

    def read_by(self, draft: Draft) -> bool:
        """Pass on what a node reads; whether that asked for anything new."""
        new = False
        for wire in draft.inputs:
            if wire.source.role != "root":
                sink = sink_of(self.round, draft, wire)
                new = self.add(sink, wire.entries, wire.source) or new
        return new

    def add(self, sink: Domain, entries: tuple[Entry, ...], source: Draft) -> bool:
        """Ask for what is read from `sink`; whether that is anything new."""
        if source.role == "root":
            return False
        asked = _image(self.round, sink, entries, source)
        if source.defined != TRUE:
            box = Domain(source.dims)
            asked = self.round.space.symbolic.simplify(conjunction(asked, source.defined), box)
        known = self.found.get(source, FALSE)
        if asked in (FALSE, known) or known == TRUE:
            self.found.setdefault(source, known)
            return False
        dims = source.dims
        there = self.round.space.symbolic
        if known != FALSE and there.implies(Domain(dims, asked), known):
            return False
        if known == FALSE or asked == TRUE:
            self.found[source] = asked
        else:
            self.found[source] = there.union(Domain(dims, known), Domain(dims, asked)).where
        return True

    def settle(self, group: list[Draft]) -> None:
        """Decide where the nodes of a cycle (or one node) are computed; all their readers are."""
        if len(group) == 1 and all(w.source is not group[0] for w in group[0].inputs):
            self._fix(group[0])
            self.read_by(group[0])
            return
        for _ in range(SWEEPS):
            new = False
            for draft in group:
                draft.where = self.found.get(draft, FALSE)
                new = self.read_by(draft) or new
            if not new:
                break
        else:
            self._widen(group)
        for draft in group:
            self._fix(draft)
            self.read_by(draft)

    def _fix(self, draft: Draft) -> None:
        draft.where = self.found.get(draft, FALSE)
        if isinstance(draft.op, Merge):
            self.drop_unused(draft, draft.op)

    def _widen(self, group: list[Draft]) -> None:
        """Compute the tensors of a cycle at all points of the dimensions that they write."""
        there = self.round.space.symbolic
        for draft in group:
            if draft.role == "local":
                carried = tuple(d for d in draft.dims if d not in draft.written)
                outer = there.project(Domain(draft.dims, self.found[draft]), carried)
                where = conjunction(outer.where, draft.defined)
                self.found[draft] = there.simplify(where, Domain(draft.dims))
        for _ in group:
            new = False
            for draft in group:
                draft.where = self.found.get(draft, FALSE)
                new = self.read_by(draft) or new
            if not new:
                return

    def drop_unused(self, draft: Draft, op: Merge) -> None:
        """Leave out the branches that no point takes, because of what is around them."""
        if draft.where == draft.defined and draft.role == "local":
            return
        there = self.round.space.symbolic
        used = [not there.is_empty(sink_of(self.round, draft, w)) for w in draft.inputs]
        if not all(used) and any(used):
            targets = tuple(t for t, u in zip(op.targets, used, strict=True) if u)
            draft.op = Merge(targets=targets)
            draft.inputs = [w for w, u in zip(draft.inputs, used, strict=True) if u]


def _image(round: Round, sink: Domain, entries: tuple[Entry, ...], source: Draft) -> Expr:
    """The points of a source that are read from `sink`; all if lengths there are not known."""
    if sink.where == FALSE:
        return FALSE
    key = ("image", sink, entries, source.dims)
    return round.space.known.once(key, lambda: _find_image(round, sink, entries, source.dims))


def _find_image(
    round: Round, sink: Domain, entries: tuple[Entry, ...], dims: tuple[str, ...]
) -> Expr:
    found = _exact_image(round, sink, entries, dims)
    return found if round.universe.has_lengths(found, dims) else TRUE


def _exact_image(
    round: Round, sink: Domain, entries: tuple[Entry, ...], dims: tuple[str, ...]
) -> Expr:
    pairs = list(zip(dims, entries, strict=True))
    if moves_elsewhere(round.universe, sink, entries, Domain(dims)):
        return TRUE
    there = round.space.symbolic
    if all(e == Sym(d) for d, e in pairs):
        return there.project(sink, dims).where
    if sink.where == TRUE and all(_whole(round, d, e) for d, e in pairs):
        return TRUE
    points = there.access_map(sink, entries, Domain(dims)).range()
    return there.domain(points, dims).where


def _whole(round: Round, dim: str, entry: Entry) -> bool:
    bound = Sym(round.universe.dim(dim).bound)
    return entry == Sym(dim) or entry == Slice(Sym(dim) - Sym(dim), bound)
