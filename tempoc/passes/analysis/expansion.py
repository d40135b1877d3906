"""Tensors that are larger than what they are made of.

An outer product of two vectors of 64 elements has 4096 and is made of 128; ``exp(dt * a)`` with
``dt`` of 64 and a fixed ``a`` of 64 x 16 has 1024 and is made of 64. Such a tensor is better made
anew at each step than stored for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tempoc.base.cost_model import MODEL
from tempoc.ops.definition.shapes import constant_elements
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import of_last_nodes, operand_type, topological
from tempoc.symbolic import expr as ix

Origins = Mapping[str, int | None]


@of_last_nodes
def expanding_nodes(graph: Graph, dim: str) -> frozenset[str]:
    """The nodes that make much of little at a point of a dimension, an operation an element."""
    sizes: dict[str, int] = {}
    for node in graph.nodes.values():
        if dim not in node.domain.dims or len(node.types) != 1:
            continue
        size = constant_elements(node.types[0].shape)
        if size is not None and MODEL.is_much_of_little(size, 0) and _is_simple(graph, node):
            sizes[node.name] = size
    origins = origin_sizes(graph, dim) if sizes else {}
    pairs = ((name, size, origins[name]) for name, size in sizes.items())
    much = (n for n, size, o in pairs if o is not None and MODEL.is_much_of_little(size, o))
    return frozenset(much)


def sums_products(graph: Graph, node: Node) -> bool:
    """Whether a node is a contraction that sums, so that all points are one larger product."""
    return node.op.contraction and not _is_simple(graph, node)


def origin_sizes(graph: Graph, dim: str) -> Origins:
    """The elements at a point of ``dim`` of which each node makes its result, an operation each.

    What does not vary with the dimension is made of nothing. ``None``: of no smaller tensors, or of
    an unknown number.
    """
    origins: dict[str, int | None] = {}
    for name in topological(graph):
        node = graph.nodes[name]
        simple = dim in node.domain.dims and _is_simple(graph, node)
        made = total_origin(graph, node.inputs, origins) if simple else None
        origins[name] = 0 if dim not in node.domain.dims else made
    return origins


def total_origin(graph: Graph, operands: Iterable[Edge], origins: Origins) -> int | None:
    """The elements of which operands are made, or their own if these are fewer; ``None`` where an
    extent is not known."""
    total = 0
    for edge in dict.fromkeys(operands):
        own = constant_elements(operand_type(graph, edge).shape)
        sizes = [s for s in (own, origins.get(edge.source)) if s is not None]
        if not sizes:
            return None
        total += min(sizes)
    return total


def _is_simple(graph: Graph, node: Node) -> bool:
    """Whether a node is computed by one operation for each element of its result and operand."""
    if not node.op.computed or len(node.types) != 1:
        return False
    if node.op.elementwise or node.op.moves or node.op.cheap:
        return True
    if not node.op.contraction:
        return False
    args = tuple(operand_type(graph, e) for e in node.inputs)
    work, elements = node.op.work(args, node.types), ix.product(node.types[0].shape)
    excess = ix.sub(work, ix.mul(ix.Const(max(1, len(args) - 1)), elements))
    return isinstance(excess, ix.Const) and excess.value <= 0
