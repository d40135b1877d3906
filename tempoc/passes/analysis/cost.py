"""Costs of nodes: which operators do real work, sizes of results, and operation counts."""

from __future__ import annotations

from collections.abc import Container, Mapping
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.associative_scan import AssociativeScan
from tempoc.ops.control.control import Merge
from tempoc.ops.control.externs import ExternJax
from tempoc.ops.control.fold import Fold
from tempoc.ops.definition.operator import Op
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.indexing.search import ArgMax, ArgSort, Sort, TopK
from tempoc.ops.random.draws import Draw
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.convolution import Conv
from tempoc.ops.tensor.reduction import Reduction
from tempoc.ops.tensor.scan import Scan
from tempoc.ops.tensor.source import Arange, Eye, Full, IndexValue, Literal
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types, topological
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic.expr import Const, Expr, product
from tempoc.symbolic.walk import evaluate

_WORK = (
    MatMul, Einsum, Conv, Reduction, Scan, AssociativeScan, Fold, ScatterAdd, Draw, ExternJax,
    ArgMax, Sort, ArgSort, TopK,
)  # fmt: skip


def is_cheap(op: Op) -> bool:
    """Whether recomputing the value is as cheap as reading it from memory."""
    return isinstance(op, Literal | IndexValue | Full | Arange | Eye)


def is_work(op: Op) -> bool:
    """Whether an operator does more than one elementwise pass or a move of its operands."""
    return isinstance(op, _WORK)


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
        if is_computed(node) and not is_cheap(node.op):
            work = node.op.work(operand_types(graph, node), node.types)
            moved = (product(t.shape) for t in node.types[:1])
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
        if is_work(node.op):
            counts[name] = size(node)
            continue
        operands = zip(node.inputs, operand_types(graph, node), strict=True)
        operand_counts = {
            e.source: min(counts.get(e.source, MODEL.unknown_bound**9), _elements(t.shape))
            for e, t in operands
        }
        counts[name] = min(size(node), sum(operand_counts.values()))
    return counts


def _elements(shape: tuple[Expr, ...]) -> int:
    return prod(e.value if isinstance(e, Const) else MODEL.unknown_bound for e in shape)
