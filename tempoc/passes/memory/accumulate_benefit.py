"""Whether adding up a sum on the way saves memory: whether what is summed is kept only for it.

What all points of a dimension make at once is kept whole along it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.summands import Summand
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic.expr import Entry, Slice, interval
from tempoc.symbolic.walk import extent


def saves_memory(
    graph: Graph, node: Node, sums: Container[str], uses: Mapping[str, tuple[OperandUse, ...]]
) -> bool:
    """Whether some operand is not kept whole in any case, for a reader other than ``sums``."""
    return any(not _is_stored_anyway(graph, edge, sums, uses) for edge in node.inputs)


def is_made_in_loop(graph: Graph, term: Summand, full_extent: Container[str]) -> bool:
    """Whether a loop over the term's dimension makes some of what is added, and forgets it.

    ``whole``: what is kept whole along the dimension.
    """
    in_loop = [e.source for e in term.inputs if term.dim not in vectorized_dims(graph, e.source)]
    return any(name not in full_extent for name in in_loop)


def vectorized_dims(graph: Graph, name: str) -> tuple[str, ...]:
    """The dimensions along which somebody writes all points of a tensor at once."""
    node = graph.nodes[name]
    if not isinstance(node.op, Merge):
        return node.vector
    return tuple(d for e in node.inputs for d in graph.nodes[e.source].vector)


def _is_stored_anyway(
    graph: Graph, edge: Edge, sums: Container[str], uses: Mapping[str, tuple[OperandUse, ...]]
) -> bool:
    pairs = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
    dims = {dim for dim, entry in pairs if isinstance(entry, Slice)}
    dims -= {*vectorized_dims(graph, edge.source)}
    if not dims:
        return True
    for name in _merge_closure(graph, edge.source, uses):
        node = graph.nodes[name]
        if not is_computed(node) and not isinstance(node.op, Merge):
            return True
        readers = [
            graph.nodes[use.reader].inputs[use.slot].entries
            for use in uses[name]
            if use.reader not in sums
        ]
        readers += [o.entries for o in graph.outputs if o.source == name]
        if any(_is_long(node, entries, dims) for entries in readers):
            return True
    return False


def _merge_closure(
    graph: Graph, name: str, uses: Mapping[str, tuple[OperandUse, ...]]
) -> Iterator[str]:
    """A node and the merges that it is a branch of, directly or through others."""
    stored = {name: None}
    worklist = [name]
    while worklist:
        current = worklist.pop()
        yield current
        for use in uses[current]:
            if use.reader not in stored and isinstance(graph.nodes[use.reader].op, Merge):
                stored[use.reader] = None
                worklist.append(use.reader)


def _is_long(node: Node, entries: tuple[Entry, ...], dims: Container[str]) -> bool:
    """Whether a read takes a slice along some dimensions whose length has no fixed limit."""
    return any(
        isinstance(entry, Slice) and dim in dims and interval(extent(entry))[1] is None
        for dim, entry in zip(node.domain.dims, entries, strict=True)
    )
