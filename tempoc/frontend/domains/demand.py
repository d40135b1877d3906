"""Demand analysis: the domain of each node is the set of points at which it is read.

The domains of the program's tensors (roots) come from their equations. The demand of all other
nodes is propagated backwards from their consumers, so guards restrict whole right-hand sides. The
demand of a recurrence inside of a function is a least fixpoint, computed by iteration; after
`demand_sweeps` iterations it is widened to all points that the equations define.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tempoc.base.effort import EFFORT
from tempoc.base.graphs import reachable, strongly_connected_components
from tempoc.frontend.declarations.outputs import OutputRead
from tempoc.frontend.domains.empty_slices import replace_empty_slices
from tempoc.frontend.environment.draft_node import Draft, Wire
from tempoc.frontend.environment.round import Round
from tempoc.ops.control.control import Merge
from tempoc.ops.tensor.source import Literal, Param
from tempoc.poly.relations.run_lengths import moves_elsewhere
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import divisions, symbols


def compute_demand(round: Round, results: list[OutputRead]) -> list[Draft]:
    """Set the domain (`where`) of all needed nodes; returns these nodes in their order.

    A param that no equation reads is not needed, nor is its tensor in a file: `a if tied else b`.
    """
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
    first = (d for s in starts for d in ([s] if s.role != "root" else _operands(s)))
    for group in reversed(strongly_connected_components(reachable(first, _operands), _operands)):
        demand.settle(group)
    live = dict.fromkeys(roots)
    live.update(dict.fromkeys(d for d in demand.demanded if d.where != ix.FALSE))
    replace_empty_slices(round, live)
    sources = {wire.source for draft in live for wire in draft.inputs}
    sources |= {result.ref.draft for result in results}
    return [d for d in round.drafts if d in live and (d in sources or not isinstance(d.op, Param))]


def _operands(draft: Draft) -> list[Draft]:
    """The operands that are no roots."""
    return [wire.source for wire in draft.inputs if wire.source.role != "root"]


def sink_of(round: Round, draft: Draft, wire: Wire) -> Domain:
    """The points at which an operand is read."""
    if wire.guard == ix.TRUE:
        return Domain(draft.dims, draft.where)
    space, guard_domain = round.space.symbolic, Domain(draft.dims, wire.guard)
    if draft.where == ix.TRUE:
        return guard_domain
    if draft.role == "root" and space.implies(guard_domain, draft.where):
        return guard_domain  # a branch of a definition, not of an `if` in one that has a guard
    return space.restrict(Domain(draft.dims, draft.where), wire.guard)


@dataclass(slots=True)
class _PointDemand:
    """The demand computed so far, of every node that is no root."""

    round: Round
    demanded: dict[Draft, ix.Expr] = field(default_factory=dict)

    def read_by(self, draft: Draft) -> bool:
        """Propagate the demand of a node to its operands; whether anything changed."""
        new = False
        for wire in draft.inputs:
            if wire.source.role != "root":
                sink = sink_of(self.round, draft, wire)
                new = self.add(sink, wire.entries, wire.source) or new
        return new

    def add(self, sink: Domain, entries: tuple[ix.Entry, ...], source: Draft) -> bool:
        """Add the points of `source` that are read from `sink`; whether anything changed."""
        if source.role == "root":
            return False
        with self.round.blaming(source.origin.span):
            return self._add(sink, entries, source)

    def _add(self, sink: Domain, entries: tuple[ix.Entry, ...], source: Draft) -> bool:
        image = _orderly(self.round, _image(self.round, sink, entries, source), source)
        if source.defined != ix.TRUE:
            box = Domain(source.dims)
            image = self.round.space.symbolic.simplify(ix.conjunction(image, source.defined), box)
        known = self.demanded.get(source, ix.FALSE)
        if image in (ix.FALSE, known) or known == ix.TRUE:
            self.demanded.setdefault(source, known)
            return False
        dims = source.dims
        space = self.round.space.symbolic
        if known != ix.FALSE and space.implies(Domain(dims, image), known):
            return False
        if known == ix.FALSE or image == ix.TRUE:
            self.demanded[source] = image
        else:
            self.demanded[source] = space.union(Domain(dims, known), Domain(dims, image)).where
        return True

    def settle(self, group: Sequence[Draft]) -> None:
        """Fix the demand of a strongly connected component whose consumers are done."""
        if len(group) == 1 and all(w.source is not group[0] for w in group[0].inputs):
            self._fix(group[0])
            self.read_by(group[0])
            return
        for _ in range(EFFORT.demand_sweeps):
            new = False
            for draft in group:
                draft.where = self.demanded.get(draft, ix.FALSE)
                new = self.read_by(draft) or new
            if not new:
                break
        else:
            self._widen(group)
        for draft in group:
            self._fix(draft)
            self.read_by(draft)

    def _fix(self, draft: Draft) -> None:
        draft.where = self.demanded.get(draft, ix.FALSE)
        if isinstance(draft.op, Merge):
            self.drop_unused(draft, draft.op)

    def _widen(self, group: Sequence[Draft]) -> None:
        """Widen the demand of a cycle's tensors to all points of the dimensions that they write."""
        space = self.round.space.symbolic
        for draft in group:
            if draft.role == "local":
                carried = tuple(d for d in draft.dims if d not in draft.written)
                outer = space.project(Domain(draft.dims, self.demanded[draft]), carried)
                where = ix.conjunction(outer.where, draft.defined)
                self.demanded[draft] = space.simplify(where, Domain(draft.dims))
        for _ in group:
            new = False
            for draft in group:
                draft.where = self.demanded.get(draft, ix.FALSE)
                new = self.read_by(draft) or new
            if not new:
                return

    def drop_unused(self, draft: Draft, op: Merge) -> None:
        """Remove branches of a merge that no demanded point takes."""
        if draft.where == draft.defined and draft.role == "local":
            return
        space = self.round.space.symbolic
        used: list[bool] = []
        for wire in draft.inputs:
            with self.round.blaming(wire.source.origin.span):
                used.append(not space.is_empty(sink_of(self.round, draft, wire)))
        if not all(used) and any(used):
            targets = tuple(t for t, u in zip(op.targets, used, strict=True) if u)
            draft.op = Merge(targets=targets)
            draft.inputs = [w for w, u in zip(draft.inputs, used, strict=True) if u]


def _image(round: Round, sink: Domain, entries: tuple[ix.Entry, ...], source: Draft) -> ix.Expr:
    """The points of a source read from `sink`; all points if lengths there are unknown."""
    if sink.where == ix.FALSE:
        return ix.FALSE
    key = ("image", sink, entries, source.dims)
    return round.space.known.once(key, lambda: _find_image(round, sink, entries, source.dims))


def _find_image(
    round: Round, sink: Domain, entries: tuple[ix.Entry, ...], dims: tuple[str, ...]
) -> ix.Expr:
    image = _exact_image(round, sink, entries, dims)
    return image if round.universe.has_lengths(image, dims) else ix.TRUE


def _orderly(round: Round, points: ix.Expr, source: Draft) -> ix.Expr:
    """The points, and those that only a length leaves out in a way that no order of loops follows.

    Of ``i % 2 < S``, as ``i % 2 == s % 2`` leaves it at all ``s``, each ``i`` would wait for a step
    of ``s``, some for one, some for another. Numbers would wait for one more where ``I + S >= 3``
    and ``I`` is 1.
    """
    lengths = {*round.universe.lengths}

    def is_kept(part: ix.Expr) -> bool:
        names = {*symbols(part)}
        if isinstance(source.op, Literal):
            return names <= lengths or names.isdisjoint(lengths)
        divided = {n for e in divisions(part) for n in symbols(e)}
        return divided.isdisjoint(source.dims) or names.isdisjoint(lengths)

    return ix.conjunction(*filter(is_kept, conjuncts(points))) if lengths else points


def _exact_image(
    round: Round, sink: Domain, entries: tuple[ix.Entry, ...], dims: tuple[str, ...]
) -> ix.Expr:
    pairs = list(zip(dims, entries, strict=True))
    if moves_elsewhere(round.universe, sink, entries, Domain(dims)):
        return ix.TRUE
    space = round.space.symbolic
    if all(e == ix.Sym(d) for d, e in pairs):
        return space.project(sink, dims).where
    if sink.where == ix.TRUE and all(_is_full_range(round, d, e) for d, e in pairs):
        return ix.TRUE
    points = space.access_map(sink, entries, Domain(dims)).range()
    return space.domain(points, dims).where


def _is_full_range(round: Round, dim: str, entry: ix.Entry) -> bool:
    bound = ix.Sym(round.universe.dim(dim).bound)
    return entry == ix.Sym(dim) or entry == ix.Slice(ix.Sym(dim) - ix.Sym(dim), bound)
