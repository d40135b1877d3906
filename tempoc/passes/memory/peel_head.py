"""Stores the first points of a loop that all later steps read apart, so that the rest fits a ring.

    %k = exp %h                  : [t] f32[8]        %k.first = copy %k : [t | t < 4] f32[8]
    %a = sum %k[0:min(4, t+1)]   : [t] f32[8]   ->   %a = sum %k.first[0:min(4, t+1)] : [t] f32[8]
    %b = sum %k[max(0, t-9):t+1] : [t] f32[8]        %b = sum %k[max(0, t-9):t+1]     : [t] f32[8]

Attention to a window and to the first few positions (attention sinks), or a difference to the start
of a loop, would otherwise store all of ``k``, since the slots of a ring buffer are reused. The pass
applies if all other reads of ``k`` have a small dependence distance and the loop goes on after the
first points. Vectorized nodes store all points anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from tempoc.base.cost_model import MODEL
from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.analysis.full_extent import full_extent_nodes
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.memory.serialize import looping_dims
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import symbols


class _DimRead(NamedTuple):
    """Operand ``slot`` of a node, and how it reads along the dimension at hand."""

    reader: Node
    slot: int
    edge: Edge
    entry: ix.Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class PeelHead(GraphPass):
    """Peels the first points off tensors that a ring buffer can hold without them."""

    few: int = field(
        default=MODEL.peeled_points, metadata={"help": "the most points that are kept apart"}
    )

    name: ClassVar[str] = "pin"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with copies of first points."""
        loops, lazy, uses = looping_dims(graph, context.space), enclosing_conds(graph), users(graph)
        for name, node in tuple(graph.nodes.items()):
            if name in lazy or not _may_copy(node):
                continue
            for dim in node.domain.dims:
                if dim in loops and dim not in node.vector:
                    peeled = self.pinned(graph, graph.nodes[name], dim, uses[name], context)
                    uses = uses if peeled is graph else users(peeled)
                    graph = peeled
        return graph

    def pinned(
        self, graph: Graph, node: Node, dim: str, uses: tuple[OperandUse, ...], context: PassContext
    ) -> Graph:
        """The graph with the first points of a node apart, if a ring can hold the others then."""
        space, place = context.space, node.domain.dims.index(dim)
        results = [o.entries[place] for o in graph.outputs if o.source == node.name]
        if any(isinstance(e, ix.Slice) or self.is_few(e, space) for e in results):
            return graph
        early: list[_DimRead] = []
        sizes: list[ix.Expr] = []
        lasting = False
        for use in uses:
            reader = graph.nodes[use.reader]
            edge = reader.inputs[use.slot]
            read = _DimRead(reader, use.slot, edge, edge.entries[place])
            count = None if isinstance(reader.op, Merge) else self.count(read, space)
            if count is not None and self.lasts(read, dim, space):
                early.append(read)
                sizes.append(count)
                lasting = True
            elif not self.is_near(read, dim, space):
                return graph
        if not lasting:
            return graph
        size = ix.maximum(*sizes)
        peeled = _with_first(graph, node, dim, size, early)
        if node.name in full_extent_nodes(peeled, dim, ranges=False):
            return graph
        message = f"the first {show(size)} of `{node.name}` along {dim} are kept apart"
        context.remarks.add(self.name, message, node.span)
        return peeled

    def count(self, read: _DimRead, space: Space) -> ix.Expr | None:
        """The number of first points of which a read takes some; ``None`` if these are not few."""
        end = read.entry.hi if isinstance(read.entry, ix.Slice) else read.entry + 1
        most = space.upper_bound(end, _read_domain(read, space))
        return most if self.is_few(most, space) else None

    def is_few(self, e: ix.Expr, space: Space) -> bool:
        """Whether a number has a small upper bound, for all bounds and points."""
        if any(space.universe.is_dim(n) for n in symbols(e)):
            return False
        most = ix.interval(e)[1]
        return most is not None and most <= self.few

    def lasts(self, read: _DimRead, dim: str, space: Space) -> bool:
        """Whether the loop goes on for long after the points that are read."""
        if dim not in read.reader.domain.dims:
            return False
        last = space.upper_bound(ix.Sym(dim), _read_domain(read, space))
        return not self.is_few(last, space)

    def is_near(self, read: _DimRead, dim: str, space: Space) -> bool:
        """Whether a read has a small dependence distance, however long the loop is."""
        if dim not in read.reader.domain.dims or dim in read.reader.vector:
            return False
        entry, where = read.entry, _read_domain(read, space)
        low, high = (entry.lo, entry.hi) if isinstance(entry, ix.Slice) else (entry, entry)
        distances = ix.sub(ix.Sym(dim), low), ix.sub(high, ix.Sym(dim))
        return all(self.is_few(space.upper_bound(distance, where), space) for distance in distances)


def _may_copy(node: Node) -> bool:
    """Whether a node computes its points one by one, all of the same type."""
    dims = {*node.domain.dims}
    fixed = not any(n in dims for type_ in node.types for e in type_.shape for n in symbols(e))
    return fixed and (is_computed(node) or isinstance(node.op, Merge))


def _read_domain(read: _DimRead, space: Space) -> Domain:
    """The points at which something is read."""
    domain = read.reader.domain
    return space.intersect(domain, Domain(domain.dims, read.edge.guard))


def _with_first(graph: Graph, node: Node, dim: str, size: ix.Expr, early: list[_DimRead]) -> Graph:
    """The graph in which the ``early`` reads read copies of the node's first points."""
    where = ix.conjunction(node.domain.where, ix.compare("<", ix.Sym(dim), size))
    names: dict[int, str] = {}
    for out in (read.edge.out for read in early):
        if out not in names:
            names[out] = fresh_name(f"{node.name}.first", graph.nodes, names.values())
    copies = [
        replace(
            node,
            name=name,
            op=Copy(),
            domain=Domain(node.domain.dims, where),
            inputs=(read_of(node, out),),
            types=(node.types[out],),
            vector=_vector(graph, node),
        )
        for out, name in names.items()
    ]
    nodes: dict[str, Node] = {}
    for each in graph.nodes.values():
        slots = {r.slot for r in early if r.reader.name == each.name}
        inputs = tuple(
            replace(e, source=names[e.out], out=0) if k in slots else e
            for k, e in enumerate(each.inputs)
        )
        nodes[each.name] = replace(each, inputs=inputs) if slots else each
        if each.name == node.name:
            nodes |= {copy.name: copy for copy in copies}
    return replace(graph, nodes=nodes)


def _vector(graph: Graph, node: Node) -> tuple[str, ...]:
    """The dimensions along which a node, or all branches of a merge, are vectorized."""
    if not isinstance(node.op, Merge):
        return node.vector
    stars = [graph.nodes[e.source].vector for e in node.inputs]
    return tuple(d for d in node.domain.dims if all(d in vector for vector in stars))
