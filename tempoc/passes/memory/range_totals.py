"""Sums of what later points add to places of one array become a running array.

    %x = scatter_add{axis=0} %v, %j        : [n | n >= 1] f32[n, 8]
    %p = pad %x                            : [n | n >= 1] f32[N-1, 8]
    %g = getitem{entries=(:, n, :)} %p[n+1:N] : [n | n < N-1] f32[N-1-n, 8]
    %d = sum{axes=(0,)} %g                 : [n | n < N-1] f32[8]
    ->
    %d.each  = scatter_add{axis=0} %v, %j  : [n | n >= 1] f32[N-1, 8]
    %d.total = merge %d.first when n == N-1, %d.more when n < N-1    : [n | n >= 1] f32[N-1, 8]
    %d.more  = add %d.each, %d.total[n+1]  : [n | n >= 1 and n < N-1] f32[N-1, 8]
    %d       = getitem{entries=(n, :)} %d.total[n+1] : [n | n < N-1] f32[8]

Such sums are the derivatives of states that later steps read by ranges, ``h[n = j in 0:n]``. Where
they are parts of a recurrence no operation computes all points at once, and what every step adds to
every place would be stored. Results agree up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.tensor.arithmetic import Add, Subtract
from tempoc.ops.tensor.movement import Pad
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.context import GraphPass, PassContext
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import components, type_of_read
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, slice_count
from tempoc.symbolic.walk import substitute, symbols


class RangeTotals(GraphPass):
    """Adds up, step by step, what the points of a recurrence contribute to places of an array."""

    __slots__ = ()
    name: ClassVar[str] = "totals"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with running arrays."""
        lazy = enclosing_conds(graph)
        sums = [n for n in graph.nodes.values() if isinstance(n.op, Sum) and n.name not in lazy]
        ranges = [s for n in sums if (s := _RangeSum.of(graph, n, context.space)) is not None]
        if not ranges:
            return graph
        part_of = {n: k for k, part in enumerate(components(graph)) for n in part}
        replacements: dict[str, Iterable[Node]] = {}
        for each in ranges:
            node = each.node
            if part_of[each.added.name] == part_of[node.name]:
                builder = NodeBuilder(graph=graph, space=context.space, node=node)
                each.build(builder)
                replacements[node.name] = builder.nodes.values()
                message = f"`{node.name}` is added up along {each.dim}, for all places at once"
                context.remarks.add(self.name, message, node.span)
        return drop_dead(replace_nodes(graph, replacements)) if replacements else graph


@dataclass(frozen=True, slots=True, kw_only=True)
class _RangeSum:
    """A sum over the points of ``edge``, of what ``added`` holds for the place of a point.

    ``dim`` has those points, from ``distance`` after the own one up to the last, or from the first
    one on if that is negative; ``end`` is the one that is farthest. ``place`` is the index of the
    place in ``added``; ``domain`` has the points of the running array.
    """

    node: Node
    added: Node
    edge: Edge
    dim: str
    distance: int
    end: ix.Expr
    place: tuple[IndexPart, ...]
    domain: Domain

    @classmethod
    def of(cls, graph: Graph, node: Node, space: Space) -> _RangeSum | None:
        """Such a sum; ``None`` if the node is none."""
        index = graph.nodes[node.inputs[0].source]
        if not isinstance(index.op, SpatialIndex) or not is_identity(node.inputs[0], graph):
            return None
        edge = index.inputs[0]
        added, op = graph.nodes[edge.source], node.op
        slices = {
            d: e
            for d, e in zip(added.domain.dims, edge.entries, strict=True)
            if isinstance(e, ix.Slice)
        }
        read, count = type_of_read(added, edge), len(slices)
        parts = zip(index.op.entries[:count], read.shape[:count], strict=True)
        moving = [d for d, e in slices.items() if d in symbols(e.lo) or d in symbols(e.hi)]
        if (
            not isinstance(op, Sum)
            or len(moving) != 1
            or len(index.inputs) != 1
            or axes_of(op.axes, len(index.types[0].shape)) != (*range(count),)
            or index.domain != node.domain
            or not all(_is_whole(part, extent, node.domain, space) for part, extent in parts)
        ):
            return None
        (dim,) = moving
        far = _far_end(slices[dim], dim)
        place = index.op.entries[count:]
        if far is None or not any(isinstance(e, ix.Expr) and dim in symbols(e) for e in place):
            return None
        distance, end = far
        made = cls(
            node=node, added=added, edge=edge, dim=dim, distance=distance, end=end, place=place,
            domain=_domain(added, {*slices} - {dim}, dim, distance, end),
        )  # fmt: skip
        return made if made.is_sound(slices, space) else None

    @property
    def nearer(self) -> ix.Expr:
        """The condition for a point of the running array not to be the farthest."""
        return ix.compare("<" if self.distance > 0 else ">", ix.Sym(self.dim), self.end)

    @property
    def step(self) -> ix.Expr:
        """The next point of the running array, which is farther away."""
        return ix.add(ix.Sym(self.dim), ix.ONE if self.distance > 0 else ix.Const(-1))

    def is_sound(self, slices: dict[str, ix.Slice], space: Space) -> bool:
        """Whether the shape is the same at all points, and all points that are read are there."""
        own, others = ix.Sym(self.dim), {*slices} - {self.dim}
        for d, entry in zip(self.added.domain.dims, self.edge.entries, strict=True):
            if d not in slices and entry != ix.Sym(d):
                return False
        for entry in (slices[d] for d in others):
            if {*symbols(entry.lo), *symbols(entry.hi)} & {*self.domain.dims}:
                return False
        fixed = {*self.added.domain.dims}
        if others & {*symbols(self.added.domain.where)} or any(
            fixed & {*symbols(e)} for e in self.added.types[0].shape
        ):
            return False
        where = self.domain.where
        inner = replace(self.domain, where=ix.conjunction(where, self.nearer))
        first = ix.add(own, ix.Const(self.distance))
        return space.implies(inner, substitute(where, {self.dim: self.step})) and space.implies(
            self.node.domain, substitute(where, {self.dim: first})
        )

    def build(self, builder: NodeBuilder) -> None:
        """The nodes that replace the sum."""
        type_ = self.added.types[0]
        each = self.each(builder)
        ends = ix.compare("==", ix.Sym(self.dim), self.end)
        where = self.domain.where
        last = replace(self.domain, where=ix.conjunction(where, ends))
        others = replace(self.domain, where=ix.conjunction(where, self.nearer))
        first = builder.put("first", Copy(), (each,), last, (type_,))
        own = tuple(ix.Sym(d) for d in self.domain.dims)
        total = builder.fresh_name("total")
        later = tuple(self.step if d == self.dim else ix.Sym(d) for d in self.domain.dims)
        more = builder.put(
            "more",
            Add(),
            (Edge(source=each.name, entries=own), Edge(source=total, entries=later)),
            others,
            (type_,),
        )
        inputs = (
            Edge(source=first.name, entries=own, guard=ends),
            Edge(source=more.name, entries=own, guard=self.nearer),
        )
        builder.add(
            replace(
                self.node, name=total, op=Merge(targets=(own, own)), domain=self.domain,
                inputs=inputs, types=(type_,),
            )
        )  # fmt: skip
        start = ix.add(ix.Sym(self.dim), ix.Const(self.distance))
        entries = tuple(start if d == self.dim else ix.Sym(d) for d in self.domain.dims)
        taken = SpatialIndex(entries=self.place)
        builder.add(replace(self.node, op=taken, inputs=(Edge(source=total, entries=entries),)))

    def each(self, builder: NodeBuilder) -> Node:
        """What a point contributes to all places."""
        graph, (type_, *_) = builder.graph, self.added.types
        entries = tuple(
            ix.Sym(d) if d == self.dim else e
            for d, e in zip(self.added.domain.dims, self.edge.entries, strict=True)
        )
        if (scattered := _scattered(graph, self.added)) is not None:
            scatter, node = scattered
            dims = self.added.domain.dims
            if all(graph.nodes[e.source].domain.dims == dims for e in node.inputs):
                edges = [replace(e, entries=entries) for e in node.inputs]
                scatter = replace(scatter, n=type_.shape[0])
                return builder.put("each", scatter, edges, self.domain, (type_,))
        count = slice_count(entries)
        edge = replace(self.edge, entries=entries)
        op: Op = Sum(axes=tuple(range(count))) if count else Copy()
        return builder.put("each", op, (edge,), self.domain, (type_,))


def _is_whole(part: IndexPart, extent: ix.Expr, domain: Domain, space: Space) -> bool:
    """Whether a part of an index leaves an axis as it is."""
    if not isinstance(part, tuple):
        return False
    first, stop, step = part
    return first == ix.ZERO and step == 1 and space.equal(stop, extent, domain)


def _far_end(entry: ix.Slice, dim: str) -> tuple[int, ix.Expr] | None:
    """How far behind the own point a slice starts, and its last point; before it, negative."""
    low, high = ix.sub(entry.lo, ix.Sym(dim)), ix.sub(entry.hi, ix.Sym(dim))
    if entry.step != 1:
        return None
    if isinstance(low, ix.Const) and low.value >= 1 and dim not in symbols(entry.hi):
        return low.value, ix.sub(entry.hi, ix.ONE)
    if isinstance(high, ix.Const) and high.value <= 0 and dim not in symbols(entry.lo):
        return high.value - 1, entry.lo
    return None


def _domain(added: Node, others: set[str], dim: str, distance: int, end: ix.Expr) -> Domain:
    """The points of the running array."""
    within = ix.compare("<=" if distance > 0 else ">=", ix.Sym(dim), end)
    dims = tuple(d for d in added.domain.dims if d not in others)
    return Domain(dims, ix.conjunction(added.domain.where, within))


def _scattered(graph: Graph, node: Node) -> tuple[ScatterAdd, Node] | None:
    """The node that puts rows at places of what is then padded behind, if there is one.

    Places that a ``pick`` has not checked would be counted from another end.
    """
    if isinstance(node.op, Pad) and is_identity(node.inputs[0], graph):
        (before, _), *others = node.op.widths
        if before != ix.ZERO or any(w != (ix.ZERO, ix.ZERO) for w in others):
            return None
        node = graph.nodes[node.inputs[0].source]
    op = node.op
    if not isinstance(op, ScatterAdd) or op.axis != 0:
        return None
    if not all(is_identity(e, graph) for e in node.inputs):
        return None
    if not op.sure and not _is_checked(graph, graph.nodes[node.inputs[1].source]):
        return None
    return op, node


def _is_checked(graph: Graph, places: Node) -> bool:
    """Whether a ``pick`` checks that these places are not negative."""
    chosen: str = places.name
    low: ix.Expr = ix.ZERO
    if isinstance(places.op, Subtract):
        first = graph.nodes[places.inputs[1].source].op
        if not isinstance(first, IndexValue) or not is_identity(places.inputs[0], graph):
            return False
        chosen, low = places.inputs[0].source, first.expr
    picks = (n for n in graph.nodes.values() if isinstance(n.op, Pick) and n.op.lo == low)
    return any(p.inputs[1].source == chosen and is_identity(p.inputs[1], graph) for p in picks)
