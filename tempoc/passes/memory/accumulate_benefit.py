"""Whether a running sum saves memory: whether its summands are stored only for the sum.

A vectorized tensor is always stored at its full extent. Contractions stay where what they alone
need is small beside a tensor that is stored anyway, as vectors are beside the states that are made
of them: one product of all steps takes less time than one a step.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import inf

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.shapes import constant_elements
from tempoc.ops.tensor.contraction import Einsum
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


def small_contractions(
    graph: Graph, sums: Mapping[str, Sequence[Summand]], full_extent: StoredNodes
) -> set[str]:
    """The contractions whose operands, stored for all steps, are small beside what is stored.

    All operands at the points of the same dimensions are taken together. ``sums`` has the summands
    of each sum, by dimension.
    """
    stored: dict[tuple[frozenset[str], str], set[str]] = {}
    for name, terms in sums.items():
        if isinstance(graph.nodes[name].op, Einsum):
            for term in terms:
                for edge in term.inputs:
                    source = graph.nodes[edge.source]
                    looped = {*source.domain.dims} - {*vectorized_dims(graph, source.name)}
                    if term.dim in looped and source.name not in full_extent(term.dim):
                        place = frozenset(source.domain.dims), term.dim
                        stored.setdefault(place, set()).add(source.name)
    large = {
        name
        for (dims, dim), names in stored.items()
        if MODEL.beside_stored * sum(_bytes(graph.nodes[n]) for n in names)
        > _largest(graph, full_extent(dim), dims)
        for name in names
    }
    return {
        name
        for name, terms in sums.items()
        if isinstance(graph.nodes[name].op, Einsum)
        and large.isdisjoint(e.source for t in terms for e in t.inputs)
    }


def _largest(graph: Graph, names: Container[str], dims: Container[str]) -> float:
    """The bytes at a point of the largest of these tensors that have exactly some dimensions."""
    nodes = (n for n in graph.nodes.values() if n.name in names and {*n.domain.dims} == dims)
    made = (n for n in nodes if is_computed(n) or isinstance(n.op, Merge))
    return max((size for n in made if (size := _bytes(n)) < inf), default=0)


def _bytes(node: Node) -> float:
    """The bytes of a tensor at a point; infinite if that is not known."""
    sizes = [(constant_elements(t.shape), t.dtype.itemsize) for t in node.types]
    return sum(inf if size is None else size * width for size, width in sizes)


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
