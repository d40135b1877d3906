"""Element forwarding: a read of an element at another point is a new read of the array.

    %h = getitem{entries=(t,)} %h.rows       : [t*] f32
    %y = exp %h[t-1]                         : [t* | t >= 1] f32
    output last = %h[T-1]
    ->
    %h.at  = getitem{entries=(t-1,)} %h.rows : [t* | t >= 1] f32
    %y     = exp %h.at                       : [t* | t >= 1] f32
    %h.at2 = getitem{entries=(T-1,)} %h.rows : [] f32
    output last = %h.at2

The result of a recurrence that has become a scan is such an array. Only consumers at the same
point, which can be fused with it, still read the element node; if there is none, the array is not
stored a second time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Merge
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import node_expressions, operand_type, substitute_in_op
from tempoc.sdg.graph.rewrite import edge_at, with_changes
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


def forward_elements(graph: Graph) -> Graph:
    """Give nodes and outputs that read an element at another point an element node of their own."""
    elements = {n.name: n for n in graph.nodes.values() if _is_element(graph, n)}
    if not elements:
        return graph
    builder = _ElementNodes(graph, elements)
    for name, node in graph.nodes.items():
        if is_computed(node) and not isinstance(node.op, Merge):
            inputs = tuple(builder.read(e, node) for e in node.inputs)
            node = node if inputs == node.inputs else replace(node, inputs=inputs)
        builder.nodes[name] = node
    outputs = []
    for o in graph.outputs:
        forwarded = builder.read(o.edge, None)
        outputs.append(
            replace(o, source=forwarded.source, out=forwarded.out, entries=forwarded.entries)
        )
    return with_changes(graph, builder.nodes, tuple(outputs))


def _is_element(graph: Graph, node: Node) -> bool:
    """Whether a node takes the element of its own point from a computed array."""
    if not isinstance(node.op, SpatialIndex) or node.op.gathers or not node.op.entries:
        return False
    (edge,) = node.inputs
    source = graph.nodes[edge.source]
    if not is_computed(source) or edge.entries != identity(source.domain):
        return False
    first, *other_entries = node.op.entries
    others = operand_type(graph, edge).shape[1:]
    if other_entries != [(ix.ZERO, e, 1) for e in others] or not isinstance(first, ix.Expr):
        return False
    new_dims = [d for d in node.domain.dims if d not in source.domain.dims]
    return len(new_dims) == 1 and isinstance(ix.sub(first, ix.Sym(new_dims[0])), ix.Const)


@dataclass(slots=True)
class _ElementNodes:
    """Builds element nodes in the domains of their readers; ``memo`` memoizes them."""

    graph: Graph
    elements: dict[str, Node]
    nodes: dict[str, Node] = field(default_factory=dict)
    memo: dict[tuple[str, Domain, tuple[str, ...], tuple[ix.Entry, ...]], str] = field(
        default_factory=dict
    )

    def read(self, edge: Edge, reader: Node | None) -> Edge:
        """The edge, redirected to an element node of the reader's domain; ``None`` is an output."""
        node = self.elements.get(edge.source)
        if node is None or any(isinstance(e, ix.Slice) for e in edge.entries):
            return edge
        domain, vector = (reader.domain, reader.vector) if reader else (Domain(()), ())
        points = node.domain.at(edge.entries)
        if domain == node.domain and edge.entries == identity(domain):
            return edge
        if any(self.graph.universe.moves(e, points) for e in node_expressions(node)):
            return edge
        array = self.graph.nodes[node.inputs[0].source]
        if any(self.moves(d, points[d]) for d in array.domain.dims):
            return edge  # arrays of other points would be stored for one element each
        key = (node.name, domain, vector, edge.entries)
        if key not in self.memo:
            element = self.element(node, edge, points)
            name = fresh_name(f"{node.name}.at", self.graph.nodes, self.nodes)
            self.nodes[name] = replace(element, name=name, domain=domain, vector=vector)
            self.memo[key] = name
        return replace(edge, source=self.memo[key], out=0, entries=identity(domain))

    def moves(self, dim: str, entry: ix.Entry) -> bool:
        """Whether an entry varies with the reader, but is not the reader's own point."""
        named = symbols(entry) if isinstance(entry, ix.Expr) else ()
        return entry != ix.Sym(dim) and any(self.graph.universe.is_dim(n) for n in named)

    def element(self, node: Node, edge: Edge, points: dict[str, ix.Entry]) -> Node:
        """The element node at other points."""
        at = {d: e for d, e in points.items() if isinstance(e, ix.Expr)}
        (array,) = node.inputs
        return replace(
            node,
            op=substitute_in_op(node.op, at),
            inputs=(edge_at(array, at),),
            types=(operand_type(self.graph, edge),),
        )
