"""Nodes along a dimension whose points need their neighbours, but no more of the other tiles.

The rows of a scan, each read at its own point, and reads of the next or the previous point:

    %g.rows = recurrence{reverse=true} %d[T-1], %d[0:T], %c[0:T-1] : [] f32[T]
    %g      = getitem{entries=(t,)} %g.rows : [t*] f32
    %n      = copy %v[min(T-1, t+1)] : [t*] f32

A tile of ``%g`` needs that of ``%d`` and the state that the tile after it ends with; a tile of
``%n`` needs that of ``%v`` and the first row of the tile after it. So they can be computed in one
loop over tiles that runs backwards, and whatever reads ``%g`` finds the values from which it was
computed in the same tile. A merge of such a read with a value at the last point,

    %n = merge %v[t+1] when t < T-1, %last when t == T-1 : [t]

becomes a selection first. Previous points, and scans that run forward, are the mirror image.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.running_recurrence import LoopEnds
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import users
from tempoc.sdg.graph.rewrite import compose_node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at, own_point, slice_count
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourNode:
    """A node along a dimension, with the nodes along it of which its tiles need those at hand.

    ``rows`` is the scan whose rows it reads; empty for a read of a neighbour.
    """

    sources: tuple[str, ...]
    rows: str = ""


def ends_of(graph: Graph, dim: str, *, forward: bool) -> LoopEnds:
    """A dimension as a loop in a direction."""
    bound = ix.Sym(graph.universe.dim(dim).bound)
    return LoopEnds.along(dim, ix.Slice(ix.ZERO, bound), forward=forward)


def neighbour(ends: LoopEnds) -> ix.Expr:
    """The point that comes before the own one in a loop, or the own one where there is none."""
    clamped = ix.maximum if ends.forward else ix.minimum
    return clamped(ends.before, ends.first)


def with_selected_ends(graph: Graph, space: Space, ends: LoopEnds) -> Graph:
    """The graph with merges of neighbours and a value at a loop's first point as selections."""
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        parts = _selected(graph, space, node, ends)
        nodes |= {n.name: n for n in parts or (node,)}
    return replace(graph, nodes=nodes) if len(nodes) > len(graph.nodes) else graph


def _selected(graph: Graph, space: Space, node: Node, ends: LoopEnds) -> tuple[Node, ...] | None:
    """The neighbour, whether there is one, and the selection, in place of a merge."""
    if not isinstance(node.op, Merge) or len(node.inputs) != 2 or ends.dim not in node.domain.dims:
        return None
    own = own_point(node.domain.dims)
    later, first = node.inputs
    source = graph.nodes[later.source]
    if node.op.targets != (own, own) or (later.entries, first.entries) != (own, own):
        return None
    if (later.guard, first.guard) != (ends.is_later, ends.is_first):
        return None
    if not isinstance(source.op, Copy) or ends.dim not in source.vector:
        return None
    (read,) = source.inputs
    dims, where = read_dims(graph, read), graph.nodes[read.source].domain.where
    if ends.dim not in dims or ends.dim in symbols(where):
        return None
    if read.entries != entries_at(dims, {ends.dim: ends.before}):
        return None
    builder = NodeBuilder(graph=graph, space=space, node=replace(node, vector=source.vector))
    entries = entries_at(dims, {ends.dim: neighbour(ends)})
    near = builder.put("near", Copy(), (replace(read, entries=entries),))
    is_later = builder.put("later", IndexValue(expr=ends.is_later))
    at = entries_at(read_dims(graph, first), {ends.dim: ends.first})
    edge = replace(first, entries=at, guard=ix.TRUE)
    composed = compose_node(graph.nodes[first.source], edge, graph.universe)
    op, operands = composed or (Copy(), (edge,))
    domain = Domain(
        tuple(d for d in node.domain.dims if d != ends.dim),
        substitute(node.domain.where, {ends.dim: ends.first}),
    )
    value = builder.put("first", op, operands, domain)  # a point of no loop over the dimension
    return builder.finish(builder.put("selected", Select(), (is_later, near, value)))


def read_dims(graph: Graph, edge: Edge) -> tuple[str, ...]:
    """The dimensions of what an edge reads."""
    return graph.nodes[edge.source].domain.dims


def neighbour_nodes(graph: Graph, ends: LoopEnds) -> dict[str, NeighbourNode]:
    """The nodes along a dimension that need the point before their own in a loop over it."""
    uses = users(graph)
    nodes: dict[str, NeighbourNode] = {}
    for node in graph.nodes.values():
        if ends.dim not in node.vector or len(node.inputs) != 1:
            continue
        (edge,) = node.inputs
        source = graph.nodes[edge.source]
        if isinstance(node.op, Copy) and ends.dim in source.vector:
            if edge.entries == entries_at(source.domain.dims, {ends.dim: neighbour(ends)}):
                nodes[node.name] = NeighbourNode(sources=(source.name,))
        elif isinstance(source.op, Recurrence) and _is_row(graph, node, ends.dim):
            readers = all(
                _is_row(graph, graph.nodes[u.reader], ends.dim) for u in uses[source.name]
            )
            is_output = any(o.source == source.name for o in graph.outputs)
            sources = _row_sources(graph, source, ends) if readers and not is_output else None
            if sources:
                nodes[node.name] = NeighbourNode(sources=sources, rows=source.name)
    return nodes


def _is_row(graph: Graph, node: Node, dim: str) -> bool:
    """Whether each point of a node reads its row of what is computed at all points: ``x[t]``."""
    if not isinstance(node.op, SpatialIndex) or node.op.gathers or dim not in node.vector:
        return False
    (edge,), (place, *others) = node.inputs, node.op.entries
    dims = read_dims(graph, edge)
    own = edge.entries == own_point(dims) and {*dims, dim} == {*node.domain.dims}
    return own and place == ix.Sym(dim) and all(isinstance(e, tuple) for e in others)


def _row_sources(graph: Graph, node: Node, ends: LoopEnds) -> tuple[str, ...] | None:
    """The nodes along a dimension that a scan reads; ``None`` unless it reads each at its step."""
    op, bound = node.op, ix.Sym(graph.universe.dim(ends.dim).bound)
    assert isinstance(op, Recurrence)
    if op.reverse == ends.forward or op.count != ix.sub(bound, ix.ONE):
        return None
    if ends.dim in node.domain.dims:
        return None
    first, elements, constants = op.parts(node.inputs)
    sources: dict[str, None] = {}
    others = {e.source for e in constants}
    for edge in first:
        at = dict(zip(read_dims(graph, edge), edge.entries, strict=True))
        if at.get(ends.dim) == ends.first:
            sources[edge.source] = None
        else:
            others.add(edge.source)
    for edge, start in zip(elements, op.starts, strict=True):
        at = dict(zip(read_dims(graph, edge), edge.entries, strict=True))
        part = at.get(ends.dim)
        if not isinstance(part, ix.Slice) or slice_count(edge.entries) != 1:
            return None
        if (part.lo, part.step, start) != (ix.ZERO, 1, int(ends.forward)):
            return None
        if part.hi == bound:
            sources[edge.source] = None
    if not others.isdisjoint(sources):
        return None
    return tuple(s for s in sources if ends.dim in graph.nodes[s].vector)
