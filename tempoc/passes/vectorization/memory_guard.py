"""Which nodes may be vectorized along a dimension without storing more than is stored anyway.

If some nodes keep their loop, tensors between them and vectorized nodes have to be stored at full
extent: computed before the loop, or consumed after it. That is allowed

- at no cost: for tensors that have their full extent in any case (``analysis/full_extent.py``).
  Those of large points are assumed to be computed as late as possible: where a loop back through
  layers needs them one by one, nothing is gained from having all of them before it;
- for matrix products, which gain from being vectorized, and the nodes connected with them, as long
  as the additional tensors are no larger than those with full extent anyway: so the projections of
  all inputs of a recurrent network are computed before it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import connected_components
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.passes.analysis.full_extent import full_extent_nodes
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols


def affordable_nodes(graph: Graph, dim: str, candidates: Sequence[str], space: Space) -> list[str]:
    """Those of the candidates that may be vectorized along a dimension.

    Nodes with a single point along the dimension are left to the loops: vectorizing gains nothing.
    """
    large = [n.name for n in graph.nodes.values() if _bytes(graph, n, space) > MODEL.point_bytes]
    full_extent = full_extent_nodes(graph, dim, late=large)
    limit = _size(graph, dim, full_extent, space)
    single_point = {n.name for n in graph.nodes.values() if space.is_fixed_by(n.domain, dim)}
    full_extent |= single_point
    candidates = [s for s in candidates if s not in single_point]
    boundary = _LoopBoundary(graph, dim, full_extent)
    accepted = {*candidates}
    while growing := {s for s, _ in boundary.growing(accepted)}:
        accepted -= growing
    rejected = [s for s in candidates if s not in accepted]
    for part in connected_components(rejected, lambda name: graph.nodes[name].sources):
        if any(graph.nodes[s].op.contraction for s in part):
            added = {store for _, store in boundary.growing(accepted.union(part))}
            if _size(graph, dim, added, space) <= limit:
                accepted.update(part)
    return [s for s in candidates if s in accepted]


class _LoopBoundary:
    """The tensors between vectorized nodes and those that loop."""

    def __init__(self, graph: Graph, dim: str, full_extent: Collection[str]) -> None:
        nodes = graph.nodes.values()
        self.full_extent = {*full_extent}
        self.free = self.full_extent | {n.name for n in nodes if n.op.cheap}
        self.free |= {n.name for n in nodes if dim not in n.domain.dims}
        self.merges = [
            (n.name, {e.source for e in n.inputs}) for n in nodes if isinstance(n.op, Merge)
        ]
        self.reads = [(n.name, e.source) for n in nodes for e in n.inputs]

    def growing(self, vectorized: Collection[str]) -> Iterator[tuple[str, str]]:
        """Vectorized nodes, each with a boundary tensor that would grow to its full extent."""
        free = self.free.union(vectorized)
        free |= {name for name, sources in self.merges if sources <= free}
        for reader, source in self.reads:
            if source not in free and reader in vectorized:
                yield reader, source
            if reader not in free and source in vectorized and source not in self.full_extent:
                yield source, source


def _size(graph: Graph, dim: str, names: Iterable[str], space: Space) -> int:
    """The number of elements of tensors at a point of a dimension, for large bounds."""
    return sum(
        _elements(graph, graph.nodes[n], space)
        for n in {*names}
        if dim in graph.nodes[n].domain.dims
    )


def _elements(graph: Graph, node: Node, space: Space) -> int:
    return sum(_sizes(graph, node, space))


def _bytes(graph: Graph, node: Node, space: Space) -> int:
    """The bytes of a tensor at a point of a dimension, for large bounds."""
    pairs = zip(_sizes(graph, node, space), node.types, strict=True)
    return sum(size * numpy_dtype(t.dtype).itemsize for size, t in pairs)


def _sizes(graph: Graph, node: Node, space: Space) -> Iterator[int]:
    """The number of elements of each result, where it is longest."""
    along: list[ix.Expr] = [ix.Sym(graph.universe.dim(d).bound) for d in node.vector]
    for type_ in node.types:
        shape = (space.upper_bound(e, node.domain) for e in type_.shape)
        size = ix.product((*along, *shape))
        yield evaluate(size, dict.fromkeys(symbols(size), MODEL.unknown_bound))
