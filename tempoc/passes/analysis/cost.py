"""Costs of nodes: sizes of results and operation counts."""

from __future__ import annotations

from collections.abc import Container, Mapping
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Merge
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types, topological
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


def size(node: Node) -> int:
    """The number of elements of a node's results."""
    return sum(_elements(t.shape) for t in node.types)


def operations(graph: Graph, bounds: Mapping[str, int]) -> int:
    """An estimate of the operations of a graph for these bounds; moving an element counts as one.

    Extents are taken at the last point of each dimension.
    """
    at = {**bounds, **{d.name: bounds[d.bound] - 1 for d in graph.universe.dims}}
    total = 0
    for node in graph.nodes.values():
        if is_computed(node) and not node.op.cheap:
            work = node.op.work(operand_types(graph, node), node.types)
            moved = (ix.product(t.shape) for t in node.types[:1])
            points = prod(bounds[graph.universe.dim(d).bound] for d in node.domain.dims)
            total += points * max(0, *(evaluate(e, at) for e in (work, *moved)))
    return total


def input_elements(graph: Graph, names: Container[str]) -> dict[str, int]:
    """For each of some nodes the elements that it has to read to be recomputed, through the others.

    ``-broadcast_to(x)`` of a scalar needs one element, however large it is. Nodes that do work
    count with their own size.
    """
    counts: dict[str, int] = {}
    for name in topological(graph):
        node = graph.nodes[name]
        if name not in names or not is_computed(node) or isinstance(node.op, Merge):
            continue
        if node.op.heavy:
            counts[name] = size(node)
            continue
        operands = zip(node.inputs, operand_types(graph, node), strict=True)
        operand_counts = {
            e.source: min(counts.get(e.source, MODEL.unknown_bound**9), _elements(t.shape))
            for e, t in operands
        }
        counts[name] = min(size(node), sum(operand_counts.values()))
    return counts


def _elements(shape: tuple[ix.Expr, ...]) -> int:
    return prod(e.value if isinstance(e, ix.Const) else MODEL.unknown_bound for e in shape)
