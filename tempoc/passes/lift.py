"""Reductions over ranges that move with the point become scans, windows or running values.

    %y = sum %x[0:t+1] : [t*] f32     ->     %y.scan = cumsum %x[0:T]           : []   f32[T]
                                             %y      = getitem{(t)} %y.scan     : [t*] f32

At each point the sum looks at all that came before: as much work as the square of the length. A
scan does all of it in one pass. Suffixes (``x[t:T]``) are scans from the end, and windows
(``x[max(t-2, 0):t+1]``) one operator that slides along the axis. Where all points are read
together, the scan itself is what is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tempoc.ops.control import Merge
from tempoc.ops.indexing import SpatialIndex
from tempoc.passes.context import PassContext
from tempoc.passes.lifted import lifted, targets
from tempoc.passes.moving import Sliding
from tempoc.sdg.branches import together
from tempoc.sdg.build import identity, is_computed
from tempoc.sdg.graph import Edge, Graph, Node
from tempoc.sdg.rewrite import drop_dead
from tempoc.symbolic.expr import ZERO, Entry, Slice, Sym
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """Lifts what is computed at all points at once."""

    name: ClassVar[str] = "lift"
    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    before: ClassVar[tuple[str, ...]] = ("groups",)

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph without moving ranges where scans do."""
        lazy = together(graph)
        found: dict[str, Node] = {}
        for node in graph.nodes.values():
            for part in [node] if node.name in lazy else _lifted(graph, node, context):
                found[part.name] = part
        if len(found) == len(graph.nodes):
            return graph
        return drop_dead(_whole_reads(replace(graph, nodes=found)))


def _lifted(graph: Graph, node: Node, context: PassContext) -> list[Node]:
    """The nodes in the place of one, which may have ranges of several dimensions."""
    for target in targets(graph, node, context.space):
        made = lifted(graph, target, context.space) if target.dim in node.vector else None
        if made is not None:
            kind = "windows" if isinstance(target.range, Sliding) else "a scan"
            message = f"`{node.name}` over {target.dim} becomes {kind}"
            context.remarks.add("lift", message, node.spans[0] if node.spans else None)
            nodes = {**graph.nodes, **{n.name: n for n in made}}
            again = replace(graph, nodes=nodes)
            return [part for n in made for part in _lifted(again, n, context)]
    return [node]


# ---------------------------------------------------------------- reads of all points


def _whole_reads(graph: Graph) -> Graph:
    """Who reads all points of an element of a scan reads the scan."""
    scans = {n.name: a for n in graph.nodes.values() if (a := _array(graph, n)) is not None}
    nodes = {
        node.name: node
        if isinstance(node.op, Merge) or not is_computed(node)
        else replace(node, inputs=tuple(_read(graph, e, scans) for e in node.inputs))
        for node in graph.nodes.values()
    }
    outputs = []
    for o in graph.outputs:
        edge = _read(graph, Edge(source=o.source, out=o.out, entries=o.entries), scans)
        outputs.append(replace(o, source=edge.source, out=edge.out, entries=edge.entries))
    return replace(graph, nodes=nodes, outputs=tuple(outputs))


def _array(graph: Graph, node: Node) -> str | None:
    """The dimension of a node whose points are the elements of an array, one by one."""
    if not isinstance(node.op, SpatialIndex) or node.op.gathers:
        return None
    (edge,) = node.inputs
    source = graph.nodes[edge.source]
    (first, *rest), (extent, *others) = node.op.entries, source.types[edge.out].shape
    if edge.entries != identity(source.domain) or rest != [(ZERO, e, 1) for e in others]:
        return None
    for dim in node.domain.dims:
        bound = Sym(graph.universe.dim(dim).bound)
        whole = dim not in symbols(node.domain.where) and dim not in source.domain.dims
        if first == Sym(dim) and extent == bound and whole:
            return dim
    return None


def _read(graph: Graph, edge: Edge, scans: dict[str, str]) -> Edge:
    """An edge to the array in the place of one that reads all its elements."""
    if edge.source not in scans:
        return edge
    node, dim = graph.nodes[edge.source], scans[edge.source]
    array = node.inputs[0]
    at: dict[str, Entry] = dict(zip(node.domain.dims, edge.entries, strict=True))
    slices = [d for d, e in at.items() if isinstance(e, Slice)]
    if not slices or slices[-1] != dim or at[dim] != Slice(ZERO, Sym(graph.universe.dim(dim).bound)):
        return edge
    dims = graph.nodes[array.source].domain.dims
    return replace(edge, source=array.source, out=array.out, entries=tuple(at[d] for d in dims))
