"""Whether a running sum saves memory: whether its summands are stored only for the sum.

A vectorized tensor is always stored at its full extent.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from tempoc.base.graphs import reachable
from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.full_extent import is_unlimited
from tempoc.passes.analysis.summands import Summand
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix

StoredNodes = Callable[[str], Container[str]]
"""The tensors that are stored at full extent along a dimension."""


def saves_memory(
    graph: Graph, node: Node, sums: Container[str], uses: Mapping[str, tuple[OperandUse, ...]]
) -> bool:
    """Whether some operand has no consumer but ``sums`` for which it is stored at full extent."""
    return any(not _is_stored_anyway(graph, edge, sums, uses) for edge in node.inputs)


def is_made_in_loop(graph: Graph, term: Summand, full_extent: StoredNodes) -> bool:
    """Whether a loop over the summand's dimension computes some operand, and need not store it."""
    in_loop = [e.source for e in term.inputs if term.dim not in vectorized_dims(graph, e.source)]
    return any(name not in full_extent(term.dim) for name in in_loop)


def vectorized_dims(graph: Graph, name: str) -> tuple[str, ...]:
    """The dimensions along which a tensor is written for all points at once."""
    node = graph.nodes[name]
    if not isinstance(node.op, Merge):
        return node.vector
    return tuple(d for e in node.inputs for d in graph.nodes[e.source].vector)


def _is_stored_anyway(
    graph: Graph, edge: Edge, sums: Container[str], uses: Mapping[str, tuple[OperandUse, ...]]
) -> bool:
    """Whether an operand is stored at full extent for a consumer other than ``sums``."""
    pairs = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
    dims = {dim for dim, entry in pairs if isinstance(entry, ix.Slice)}
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
) -> Iterable[str]:
    """A node and the merges that it is a branch of, directly or through other merges."""

    def merges(name: str) -> list[str]:
        readers = (use.reader for use in uses[name])
        return [reader for reader in readers if isinstance(graph.nodes[reader].op, Merge)]

    return reachable([name], merges)


def _is_long(node: Node, entries: tuple[ix.Entry, ...], dims: Container[str]) -> bool:
    """Whether a read takes a slice of unbounded length along some dimensions."""
    return any(
        dim in dims and is_unlimited(entry)
        for dim, entry in zip(node.domain.dims, entries, strict=True)
    )
