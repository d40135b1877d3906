"""Which tensors a recurrence reads at all their points, again and again.

    s[t, k] reads s[t, 0:k], s[t-1, k:N] and W[k]

The points of ``k`` depend on smaller ones and on greater ones, so a loop over ``t`` is around that
over ``k``, and each of its steps reads every ``W[k]``: it is stored for all ``k``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tempoc.ops.control.control import Merge
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import components
from tempoc.symbolic import expr as ix


def repeatedly_read(graph: Graph, dim: str, space: Space) -> set[str]:
    """The tensors of which each step of another loop reads all points of a dimension."""
    repeated: set[str] = set()
    for part in components(graph):
        members = {*part}
        if len(part) > 1 and any(dim in graph.nodes[n].domain.dims for n in part):
            around = _dims_around(graph, dim, part, space)
            for node in map(graph.nodes.__getitem__, part if around else ()):
                outside = [graph.nodes[e.source] for e in node.inputs if e.source not in members]
                repeated |= {
                    source.name
                    for source in outside
                    if dim in source.domain.dims
                    and around.intersection(node.domain.dims).difference(source.domain.dims)
                }
    return repeated


def _dims_around(graph: Graph, dim: str, part: Sequence[str], space: Space) -> set[str]:
    """The dimensions that can carry a cycle which goes both ways along ``dim``, or leaves it."""
    leaves = any(dim not in graph.nodes[n].domain.dims for n in part)
    directions: set[int] = set()
    carrying: set[str] = set()
    for node in map(graph.nodes.__getitem__, part):
        if isinstance(node.op, Merge):
            carrying |= _shifted(node, part)
            continue
        for edge in node.inputs:
            if edge.source in part:
                signs = _signs(graph, node, edge, space)
                directions |= signs.get(dim, frozenset())
                carrying |= {d for d, s in signs.items() if s - {0}}
    return carrying - {dim} if leaves or {-1, 1} <= directions else set()


def _signs(graph: Graph, node: Node, edge: Edge, space: Space) -> dict[str, frozenset[int]]:
    return space.signs(node.domain, edge.entries, graph.nodes[edge.source].domain)


def _shifted(merge: Node, members: Collection[str]) -> set[str]:
    """The dimensions along which a branch in the cycle is written to another point than its own."""
    assert isinstance(merge.op, Merge)
    written = zip(merge.inputs, merge.op.targets, strict=True)
    targets = [target for edge, target in written if edge.source in members]
    pairs = [p for target in targets for p in zip(merge.domain.dims, target, strict=True)]
    return {dim for dim, at in pairs if at != ix.Sym(dim)}
