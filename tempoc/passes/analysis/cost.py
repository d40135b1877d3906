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
from tempoc.symbolic.expr import Const, Expr
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
    """An estimate of the arithmetic operations of a graph for these bounds.

    One for each element of a result; two for each term of a contraction. Extents are taken at the
    last point of each dimension.
    """
    at = {**bounds, **{d.name: bounds[d.bound] - 1 for d in graph.universe.dims}}
    total = 0
    for node in graph.nodes.values():
        if is_computed(node) and not is_cheap(node.op):
            args = operand_types(graph, node)
            shapes = [[max(0, evaluate(e, at)) for e in t.shape] for t in (*node.types, *args)]
            points = prod(bounds[graph.universe.dim(d).bound] for d in node.domain.dims)
            total += points * _of_point(node.op, shapes)
    return total


def _of_point(op: Op, shapes: list[list[int]]) -> int:
    """The operations at one point; ``shapes`` are those of the results, then of the operands."""
    sizes = [prod(shape) for shape in shapes]
    match op:
        case MatMul():
            return 2 * sizes[0] * shapes[1][-1]
        case Einsum(spec=spec):
            terms = [t.strip() for t in spec.split("->")[0].split(",")]
            if "." in spec:
                return 2 * max(sizes)
            operand_extents = (
                zip(t, s, strict=True) for t, s in zip(terms, shapes[1:], strict=True)
            )
            return 2 * prod(dict(pair for operand in operand_extents for pair in operand).values())
        case Conv():
            return 2 * sizes[0] * prod(shapes[2][1:])
        case _:
            return max(sizes) if is_work(op) else sizes[0] if sizes else 0


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
