"""Values that effects observe while the program runs, such as a loss that is printed at each step.

They are not vectorized if they depend on a loop: they would only be shown after the loop's end.
"""

from __future__ import annotations

from collections.abc import Collection

from tempoc.base.graphs import reachable
from tempoc.ops.control.effects import EffectOp
from tempoc.sdg.graph.graph import Edge, Graph
from tempoc.sdg.graph.query import users
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix


def observed_values(graph: Graph, dim: str, stars: Collection[str]) -> set[str]:
    """The nodes on paths from a loop along a dimension to an effect at the same points."""
    nodes = [n for n in graph.nodes.values() if dim in n.domain.dims]
    effects = [n.name for n in nodes if isinstance(n.op, EffectOp)]
    if not effects:
        return set()
    uses = users(graph)
    in_loops = [
        n.name
        for n in nodes
        if is_computed(n) and n.name not in stars and n.name not in effects and not n.op.cheap
    ]

    def sources(name: str) -> list[str]:
        return [e.source for e in graph.nodes[name].inputs if _is_at_point(graph, e, dim)]

    def readers(name: str) -> list[str]:
        reads = [(u.reader, graph.nodes[u.reader].inputs[u.slot]) for u in uses[name]]
        return [
            reader
            for reader, edge in reads
            if dim in graph.nodes[reader].domain.dims and _is_at_point(graph, edge, dim)
        ]

    return {*reachable(effects, sources)} & {*reachable(in_loops, readers)}


def _is_at_point(graph: Graph, edge: Edge, dim: str) -> bool:
    """Whether a read takes a single point of the dimension."""
    dims = graph.nodes[edge.source].domain.dims
    return dim in dims and not isinstance(edge.entries[dims.index(dim)], ix.Slice)
