"""What does not vary with a dimension is computed once for all of its points.

    %m = matmul %w, %x : [b, t] f32[3]     %m = matmul %w, %x : [b]    f32[3]
    %s = mul %m, %z    : [b, t] f32[3]  -> %s = mul %m[b], %z : [b, t] f32[3]

The new domain is the projection of the old one, so what stood at no point stays uncomputed, and
every read of the reduced node has a point to read. Where somebody needs a value at each point (an
output, a slice, a branch of a merge) and making it is work, that is done once and copied there.

What costs nothing but memory (a table from an index, a broadcast) is reduced for readers that are
reduced too, and for no others: kept, it would be larger than what it is made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.analysis.cost import is_work, made_from, size
from tempoc.passes.analysis.variance import Dims, conditional, mentions, needed, values
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import topological
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols

E = TypeVar("E")
Reduced = dict[str, tuple[str, ...]]


def reduce_invariant(graph: Graph, space: Space) -> tuple[Graph, Reduced]:
    """The graph with what is invariant computed once; by node the dimensions that it lost."""
    varying = values(graph)
    if all({*n.domain.dims} <= {*varying[n.name]} for n in graph.nodes.values()):
        return graph, {}
    graph = _copied_where_needed(graph, varying)
    graph, kept = _regrown(graph, _kept(graph, space))
    lost = {
        name: tuple(d for d in node.domain.dims if d not in kept[name])
        for name, node in graph.nodes.items()
    }
    lost = {name: dims for name, dims in lost.items() if dims}
    return (_reduced(graph, kept, space) if lost else graph), lost


def held_by_branches(graph: Graph) -> Reduced:
    """What does not vary with some dimensions, but has a ``cond`` that does; by node."""
    names = conditional(graph)
    varying = values(graph) if names else {}
    invariant_dims = {
        name: tuple(d for d in graph.nodes[name].domain.dims if d not in varying[name])
        for name in graph.nodes
        if name in names
    }
    return {name: dims for name, dims in invariant_dims.items() if dims}


# ---------------------------------------------------------------- which dimensions stay


def _kept(graph: Graph, space: Space) -> Dims:
    """The dimensions that each node keeps."""
    forced: dict[str, tuple[str, ...]] = {}
    while True:
        kept = needed(graph, forced)
        added = {n: d for n, d in _unstated(graph, kept, space) if n not in forced}
        if not added:
            break
        forced |= added
    return kept


def _unstated(graph: Graph, kept: Dims, space: Space) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Nodes whose projection would depend on a length that is only known later."""
    lengths = graph.universe.lengths
    for node in graph.nodes.values() if lengths else ():
        if kept[node.name] != node.domain.dims:
            where = space.project(node.domain, kept[node.name]).where
            if any(n in lengths for n in symbols(where)):
                yield node.name, node.domain.dims


def _regrown(graph: Graph, kept: Dims) -> tuple[Graph, Dims]:
    """What is only larger than what it is made from is made again by those who can name the point.

    Readers that are reduced themselves get one of their own.
    """
    nodes, dims_of = dict(graph.nodes), dict(kept)
    for name in _only_large(graph, kept):
        node = nodes[name]
        reads = [(r, k) for r in nodes.values() for k, e in enumerate(r.inputs) if e.source == name]
        reduced_readers = [
            (r, k) for r, k in reads if not _has(graph, r.inputs[k], dims_of[r.name])
        ]
        if len(reduced_readers) == len(reads):
            continue
        dims_of[name] = node.domain.dims
        if reduced_readers:
            once = _free(f"{name}.once", nodes)
            dims_of[once] = kept[name]
            for reader, slot in reduced_readers:
                own = nodes[reader.name]
                edge = replace(own.inputs[slot], source=once)
                inputs = (*own.inputs[:slot], edge, *own.inputs[slot + 1 :])
                nodes[reader.name] = replace(own, inputs=inputs)
            nodes = _before(nodes, name, replace(node, name=once))
    return replace(graph, nodes=nodes), dims_of


def _before(nodes: dict[str, Node], name: str, node: Node) -> dict[str, Node]:
    """The nodes with one more, before that of a name."""
    ordered: dict[str, Node] = {}
    for other, old in nodes.items():
        if other == name:
            ordered[node.name] = node
        ordered[other] = old
    return ordered


def _only_large(graph: Graph, kept: Dims) -> list[str]:
    """What loses dimensions, but is quickly made, and from less than it has; readers first."""
    lost = {n: node for n, node in graph.nodes.items() if kept[n] != node.domain.dims}
    sources = made_from(graph, lost)
    return [
        name
        for name, node in ((n, lost[n]) for n in topological(graph)[::-1] if n in lost)
        if name in sources and not is_work(node.op) and sources[name] < size(node)
    ]


def _has(graph: Graph, edge: Edge, dims: tuple[str, ...]) -> bool:
    """Whether a reader of these dimensions can name the point of its source that it reads."""
    return mentions(graph.universe, edge.entries) <= {*dims}


# ---------------------------------------------------------------- rewriting


def _copied_where_needed(graph: Graph, varying: Dims) -> Graph:
    """The graph in which work is apart from the points at which its result is wanted."""
    kept = needed(graph, {})
    branches = conditional(graph)
    nodes: dict[str, Node] = {}
    for name, node in graph.nodes.items():
        needs_copy = kept[name] != varying[name] and name not in branches
        if needs_copy and is_computed(node) and len(node.types) == 1 and is_work(node.op):
            once = _free(f"{name}.once", graph.nodes)
            nodes[once] = replace(node, name=once)
            edge = Edge(source=once, entries=identity(node.domain))
            node = replace(node, op=Copy(), inputs=(edge,))
        nodes[name] = node
    return replace(graph, nodes=nodes)


def _free(name: str, taken: Mapping[str, Node]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def _reduced(graph: Graph, kept: Dims, space: Space) -> Graph:
    """The graph with domains, accesses and targets of these dimensions."""
    nodes = {}
    for name, node in graph.nodes.items():
        dims = kept[name]
        domain = node.domain if dims == node.domain.dims else space.project(node.domain, dims)
        op = node.op
        if isinstance(op, Merge) and dims != node.domain.dims:
            op = replace(op, targets=tuple(_at(node.domain, t, dims) for t in op.targets))
        inputs = tuple(_edge(graph, e, kept) for e in node.inputs)
        vector = tuple(d for d in node.vector if d in dims)
        nodes[name] = replace(node, op=op, domain=domain, inputs=inputs, vector=vector)
    outputs = tuple(
        replace(o, entries=_at(graph.nodes[o.source].domain, o.entries, kept[o.source]))
        for o in graph.outputs
    )
    return replace(graph, nodes=nodes, outputs=outputs)


def _edge(graph: Graph, edge: Edge, kept: Dims) -> Edge:
    entries = _at(graph.nodes[edge.source].domain, edge.entries, kept[edge.source])
    return edge if entries == edge.entries else replace(edge, entries=entries)


def _at(domain: Domain, entries: tuple[E, ...], dims: tuple[str, ...]) -> tuple[E, ...]:
    """The entries of some dimensions."""
    return tuple(e for d, e in zip(domain.dims, entries, strict=True) if d in dims)
