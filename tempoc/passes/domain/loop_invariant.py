"""Loop-invariant code motion: drop the dimensions with which a node's value does not vary.

    %m = matmul %w, %x : [b, t] f32[3]     %m = matmul %w, %x : [b]    f32[3]
    %s = mul %m, %z    : [b, t] f32[3]  -> %s = mul %m[b], %z : [b, t] f32[3]

The new domain is the projection of the old one, so an empty domain stays empty, and every read of
the reduced node has a point to read. Where a consumer needs the value at each point (an output, a
slice, a branch of a merge) and computing it is work, that is done once and copied to all points.

Nodes that cost nothing but memory (a table from an index, a broadcast) are reduced only for readers
that are reduced too; for others they are rematerialized, since a buffer of the result would be
larger than one of the operands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.analysis import variance
from tempoc.passes.analysis.cost import input_elements, size
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import topological
from tempoc.sdg.graph.rewrite import replace_operand, rewrite_reads
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols

E = TypeVar("E")
DroppedDims = dict[str, tuple[str, ...]]


def reduce_invariant(graph: Graph, space: Space) -> tuple[Graph, DroppedDims]:
    """The graph with invariant nodes reduced, and by node the dimensions that it lost."""
    varying = variance.varying_dims(graph)
    if all({*n.domain.dims} <= {*varying[n.name]} for n in graph.nodes.values()):
        return graph, {}
    graph = _separate_work_from_copies(graph, varying)
    graph, required = _rematerialized(graph, _required(graph, space))
    lost = {
        name: tuple(d for d in node.domain.dims if d not in required[name])
        for name, node in graph.nodes.items()
    }
    lost = {name: dims for name, dims in lost.items() if dims}
    return (_reduced(graph, required, space) if lost else graph), lost


def invariant_but_conditional(graph: Graph) -> DroppedDims:
    """By node the dimensions that it keeps only because a ``cond`` around it varies with them."""
    names = variance.conditional_nodes(graph)
    varying = variance.varying_dims(graph) if names else {}
    invariant_dims = {
        name: tuple(d for d in graph.nodes[name].domain.dims if d not in varying[name])
        for name in graph.nodes
        if name in names
    }
    return {name: dims for name, dims in invariant_dims.items() if dims}


# ---------------------------------------------------------------- which dimensions stay


def _required(graph: Graph, space: Space) -> variance.DimsByNode:
    """The dimensions that each node must keep, a fixpoint with ``_undecided_projections``."""
    forced: dict[str, tuple[str, ...]] = {}
    while True:
        required = variance.required_dims(graph, (*forced.items(),))
        added = {n: d for n, d in _undecided_projections(graph, required, space) if n not in forced}
        if not added:
            break
        forced |= added
    return required


def _undecided_projections(
    graph: Graph, required: variance.DimsByNode, space: Space
) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Nodes whose projection would depend on a data-dependent length, with their dimensions."""
    lengths = graph.universe.lengths
    for node in graph.nodes.values() if lengths else ():
        if required[node.name] != node.domain.dims:
            where = space.project(node.domain, required[node.name]).where
            if any(n in lengths for n in symbols(where)):
                yield node.name, node.domain.dims


def _rematerialized(
    graph: Graph, required: variance.DimsByNode
) -> tuple[Graph, variance.DimsByNode]:
    """Keep cheap expansions at all points for the readers that can name the point they read.

    Readers that are reduced themselves get a reduced copy (``.once``). Returns the graph and the
    dimensions that its nodes keep.
    """
    nodes, dims_of = dict(graph.nodes), dict(required)
    once_of: dict[str, str] = {}
    for name in _cheap_expansions(graph, required):
        node = nodes[name]
        reads = [(r, k) for r in nodes.values() for k, e in enumerate(r.inputs) if e.source == name]
        reduced_readers = [
            (r, k) for r, k in reads if not _can_name_point(graph, r.inputs[k], dims_of[r.name])
        ]
        if len(reduced_readers) == len(reads):
            continue
        dims_of[name] = node.domain.dims
        if reduced_readers:
            once = once_of[name] = fresh_name(f"{name}.once", nodes)
            dims_of[once] = required[name]
            nodes[once] = replace(node, name=once)
            for reader, slot in reduced_readers:
                own = nodes[reader.name]
                edge = replace(own.inputs[slot], source=once)
                nodes[reader.name] = replace_operand(own, slot, edge)
    order = (n for name in graph.nodes for n in (once_of.get(name, name), name))
    return replace(graph, nodes={name: nodes[name] for name in order}), dims_of


def _cheap_expansions(graph: Graph, required: variance.DimsByNode) -> list[str]:
    """Nodes that lose dimensions, do no work and are larger than their operands; readers first."""
    lost = {n: node for n, node in graph.nodes.items() if required[n] != node.domain.dims}
    sources = input_elements(graph, lost)
    return [
        name
        for name, node in ((n, lost[n]) for n in topological(graph)[::-1] if n in lost)
        if name in sources and not node.op.heavy and sources[name] < size(node)
    ]


def _can_name_point(graph: Graph, edge: Edge, dims: tuple[str, ...]) -> bool:
    """Whether a reader of these dimensions can name the point of its source that it reads."""
    return variance.mentioned_dims(graph.universe, edge.entries) <= {*dims}


# ---------------------------------------------------------------- rewriting


def _separate_work_from_copies(graph: Graph, varying: variance.DimsByNode) -> Graph:
    """Split nodes that do work but must keep dimensions into the work and a copy of its result."""
    required = variance.required_dims(graph)
    branches = variance.conditional_nodes(graph)
    nodes: dict[str, Node] = {}
    for name, node in graph.nodes.items():
        needs_copy = required[name] != varying[name] and name not in branches
        if needs_copy and is_computed(node) and len(node.types) == 1 and node.op.heavy:
            once = fresh_name(f"{name}.once", graph.nodes)
            nodes[once] = replace(node, name=once)
            node = replace(node, op=Copy(), inputs=(read_of(nodes[once]),))
        nodes[name] = node
    return replace(graph, nodes=nodes)


def _reduced(graph: Graph, required: variance.DimsByNode, space: Space) -> Graph:
    """The graph with domains, accesses and targets of these dimensions."""
    nodes = {}
    for name, node in graph.nodes.items():
        dims = required[name]
        if dims == node.domain.dims:
            nodes[name] = node
            continue
        domain, op = space.project(node.domain, dims), node.op
        if isinstance(op, Merge):
            op = replace(op, targets=tuple(_entries_of(node.domain, t, dims) for t in op.targets))
        vector = tuple(d for d in node.vector if d in dims)
        nodes[name] = replace(node, op=op, domain=domain, vector=vector)

    def read(edge: Edge, reader: Node | None) -> Edge:
        source = graph.nodes[edge.source].domain
        entries = _entries_of(source, edge.entries, required[edge.source])
        return edge if entries == edge.entries else replace(edge, entries=entries)

    return rewrite_reads(replace(graph, nodes=nodes), read)


def _entries_of(domain: Domain, entries: tuple[E, ...], dims: tuple[str, ...]) -> tuple[E, ...]:
    """The entries for these dimensions."""
    return tuple(e for d, e in zip(domain.dims, entries, strict=True) if d in dims)
