"""Axes of which each point picks a position become dimensions, before a program is differentiated.

    %keys  = copy %k[b, 0:t+1]                                : [b, t] f32[t+1, 2, 8]
    %s.key = getitem{entries=((0, t+1, 1), h//4, (0, 8, 1))} %keys : [b, t, h] f32[t+1, 8]
    %s     = matmul %s.key, %q                                : [b, t, h] f32[t+1]
    ->
    %k.part = getitem{entries=(part, (0, 8, 1))} %k           : [b, part, t] f32[8]
    %s.key  = copy %k.part[b, h//4, 0:t+1]                    : [b, t, h] f32[t+1, 8]
    %s      = matmul %s.key, %q                               : [b, t, h] f32[t+1]

Several heads of attention share keys and values so (grouped queries). A getitem of a range is an
array of its own for each point and head, and its derivative adds to all of them; a range that is
read is a view of what the points have in common. 8 heads that share 2 keys of 16 elements, 2
sequences of 256 words on a CPU: 4.2 to 2.8 ms, with a window of 32 words 10.7 to 2.4, word by word
23 to 7.6; with gradients 158 to 16, with gradients and a window 231 to 9.6 (2026-11-28, CPU time).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, NamedTuple

from tempoc.ops.control.control import Copy
from tempoc.ops.control.gradient import Gradient
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.passes.attention.dimension_before import dimension_before
from tempoc.passes.context import GraphPass, PassContext
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.active import independent_nodes
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, type_of_read, users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes, rewrite_reads
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, slice_count
from tempoc.symbolic.walk import symbols


class PickedParts(GraphPass):
    """Makes axes dimensions of which points pick positions after they have read a range."""

    __slots__ = ()
    name: ClassVar[str] = "parts"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph in which such an axis is a dimension, which the context declares."""
        if graph.universe.lengths:
            return graph
        picks = {n: p for n in graph.nodes if (p := _pick(graph, graph.nodes[n])) is not None}
        if not picks:
            return graph
        uses, lazy = users(graph), frozenset(enclosing_conds(graph))
        for source in dict.fromkeys(p.read.source for p in picks.values()):
            own = {n: p for n, p in picks.items() if p.read.source == source}
            if lazy.isdisjoint({source, *own}) and _is_only_picked(graph, source, own, uses):
                after = _with_parts(graph, context, own)
                if after is not None:
                    graph = after
                    message = f"the parts of `{source}` that points pick are a dimension"
                    context.remarks.add(self.name, message, graph.nodes[source].span)
        return drop_dead(graph)


class _PickedPosition(NamedTuple):
    """What a node picks: the position of an axis of what is read of each point of a range."""

    read: Edge
    axis: int
    position: ix.Expr


def _pick(graph: Graph, node: Node) -> _PickedPosition | None:
    """What a node picks of a range that is the same for all positions that it may pick."""
    if not isinstance(node.op, SpatialIndex) or len(node.inputs) != 1:
        return None
    read = _read_through_copies(graph, node.inputs[0])
    source = graph.nodes[read.source]
    places = [k for k, e in enumerate(node.op.entries) if isinstance(e, ix.Expr)]
    ranged = slice_count(read.entries)
    if len(places) != 1 or not ranged or places[0] < ranged or not _is_plain(source):
        return None
    position, extents = node.op.entries[places[0]], type_of_read(source, read).shape
    assert isinstance(position, ix.Expr)
    whole = enumerate(zip(node.op.entries, extents, strict=True))
    if not all(e == (ix.ZERO, n, 1) for k, (e, n) in whole if k != places[0]):
        return None
    named = {s for e in read.entries for s in symbols(e)}
    picked = {d for d in symbols(position) if d in node.domain.dims}
    if not picked or picked & named or not isinstance(extents[places[0]], ix.Const):
        return None
    return _PickedPosition(read, places[0] - ranged, position)


def _read_through_copies(graph: Graph, edge: Edge) -> Edge:
    """What a read gets, where its source is a copy at the same point."""
    while True:
        source = graph.nodes[edge.source]
        plain = is_identity(edge, graph) and edge.guard == ix.TRUE
        if not (plain and isinstance(source.op, Copy) and source.inputs[0].guard == ix.TRUE):
            return edge
        edge = source.inputs[0]


def _is_plain(source: Node) -> bool:
    return is_computed(source) and not source.op.checks


def _is_only_picked(
    graph: Graph,
    source: str,
    picks: Mapping[str, _PickedPosition],
    uses: Mapping[str, tuple[OperandUse, ...]],
) -> bool:
    """Whether only parts of one axis are read, so that they need no more memory."""
    if len({(p.read.out, p.axis) for p in picks.values()}) != 1:
        return False
    outputs = {o.source for o in graph.outputs}
    worklist = [source]
    for name in worklist:
        if name in outputs:
            return False
        for use in uses[name]:
            if use.reader in picks:
                continue
            if not isinstance(graph.nodes[use.reader].op, Copy):
                return False
            worklist.append(use.reader)
    return True


def _with_parts(
    graph: Graph, context: PassContext, picks: Mapping[str, _PickedPosition]
) -> Graph | None:
    """The graph in which a source has a dimension of parts; ``None``: a read may be outside."""
    first = next(iter(picks.values()))
    source = graph.nodes[first.read.source]
    shape = source.types[first.read.out].shape
    slot = next(k for k, e in enumerate(first.read.entries) if isinstance(e, ix.Slice))
    behind, others = source.domain.dims[slot], {*source.domain.dims}
    universe, dim = dimension_before(graph, behind, shape[first.axis], "part", others)
    declared = replace(graph, universe=universe)
    space = Space(universe, limits=context.space.frame.limits)
    domain = Domain(universe.sorted((*source.domain.dims, dim)), source.domain.where)
    entries = tuple(
        ix.Sym(dim) if k == first.axis else (ix.ZERO, e, 1) for k, e in enumerate(shape)
    )
    builder = NodeBuilder(graph=declared, space=space, node=source)
    whole = read_of(source, first.read.out)
    part = builder.put("part", SpatialIndex(entries=entries), (whole,), domain)
    reads: dict[str, Edge] = {}
    for name, pick in picks.items():
        at = source.domain.at(pick.read.entries) | {dim: pick.position}
        own = tuple(at[d] for d in domain.dims)
        reads[name] = Edge(source=part.name, entries=own, span=graph.nodes[name].span)
        if space.outside(graph.nodes[name].domain, own, domain) is not None:
            return None
    copies = {n: (replace(graph.nodes[n], op=Copy(), inputs=(r,)),) for n, r in reads.items()}
    context.declare(universe)
    return _forwarded(replace_nodes(declared, {source.name: (source, part), **copies}), reads)


def _forwarded(graph: Graph, reads: Mapping[str, Edge]) -> Graph:
    """The graph in which nodes read what these read: the derivative of a copy of ranges would be an
    array of its own."""
    independent = independent_nodes(graph)

    def forwarded(edge: Edge, reader: Node | None) -> Edge:
        read = reads.get(edge.source)
        if read is None or reader is None or isinstance(reader.op, Gradient):
            return edge
        at_point = is_computed(reader) and is_identity(edge, graph) and edge.guard == ix.TRUE
        return read if at_point and edge.source not in independent else edge

    return rewrite_reads(graph, forwarded)
