"""Copy propagation: readers of a copy read the original.

%c = copy %x[t-1] : [t | t >= 1] f32          %y = exp %x[t] : [t] f32
%y = exp %c[t+1]  : [t | t+1 < T] f32   ->
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.ops.control.control import Copy, Merge
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.graph.rewrite import compose, rewrite_reads
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic.walk import symbols


def forward_copies(graph: Graph) -> Graph:
    """Redirect every read of a copy for which one access of the original means the same.

    The copy must not change the type. A branch of a merge goes to the original only where that is
    computed, at the same points: the branch then writes the merge itself. What computes points at
    once writes all of them. A copy that waits for a length, as that of ``x[t+1] = y`` waits for
    whether there is a further step, stays where the original does not wait: the length may depend
    on it. Copies in a cycle are left to the schedule, which refuses them.
    """
    copies = {n.name: n for n in graph.nodes.values() if _is_pure_copy(graph, n)}
    if not copies:
        return graph

    def forwarded(edge: Edge, reader: Node | None) -> Edge:
        if edge.source not in copies:
            return edge
        branch = reader is not None and _takes_computed_operands(reader)
        return _branch(graph, edge, copies) if branch else read_original(graph, edge)

    return rewrite_reads(graph, forwarded)


def _is_pure_copy(graph: Graph, node: Node) -> bool:
    return isinstance(node.op, Copy) and operand_type(graph, node.inputs[0]) == node.types[0]


def _takes_computed_operands(node: Node) -> bool:
    """Whether the node's operands must be computed nodes, which write into it: merges, params."""
    return isinstance(node.op, Merge) or not is_computed(node)


def read_original(graph: Graph, edge: Edge) -> Edge:
    """The edge, reading through copies that do not change the type; as it is if they are a cycle.

    Around a cycle of copies at other points, entries would grow each time.
    """
    visited: set[str] = set()
    given = edge
    while _is_pure_copy(graph, graph.nodes[edge.source]):
        if edge.source in visited:
            return given
        visited.add(edge.source)
        copy = graph.nodes[edge.source]
        original = copy.inputs[0]
        entries = compose(edge.entries, copy.domain.dims, original.entries, graph.universe)
        if entries is None:
            break
        edge = replace(edge, source=original.source, out=original.out, entries=entries)
    return edge


def _branch(graph: Graph, edge: Edge, copies: dict[str, Node]) -> Edge:
    visited: set[str] = set()
    while (copy := copies.get(edge.source)) is not None and copy.name not in visited:
        visited.add(copy.name)
        original = copy.inputs[0]
        source = graph.nodes[original.source]
        same = source.domain.dims == copy.domain.dims
        at_own_point = original.entries == identity(source.domain)
        at_once = source.vector or copy.vector
        same_vectors = not at_once or (source.vector, source.domain) == (copy.vector, copy.domain)
        waits = copy.domain != source.domain and _names_a_length(graph, copy)
        if waits or not (same and at_own_point and same_vectors and is_computed(source)):
            break
        edge = replace(edge, source=original.source, out=original.out)
    return edge


def _names_a_length(graph: Graph, node: Node) -> bool:
    """Whether it is not known before the run at which points a node is computed."""
    return any(graph.universe.roots(name) for name in symbols(node.domain.where))
