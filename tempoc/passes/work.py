"""What a value costs: which operators do work, how large a result is, and what it is made from."""

from __future__ import annotations

from collections.abc import Container
from math import prod

from tempoc.ops.combining import AssociativeScan
from tempoc.ops.contraction import Einsum, MatMul
from tempoc.ops.control import Merge
from tempoc.ops.convolution import Conv
from tempoc.ops.externs import ExternJax
from tempoc.ops.folding import Fold
from tempoc.ops.opdef import Op
from tempoc.ops.random import Draw
from tempoc.ops.reduction import Reduction
from tempoc.ops.scan import Scan
from tempoc.ops.scatter import ScatterAdd
from tempoc.ops.search import ArgMax, ArgSort, Sort, TopK
from tempoc.sdg.build import is_computed
from tempoc.sdg.graph import Graph, Node
from tempoc.sdg.query import operand_types, topological
from tempoc.symbolic.expr import Const, Expr

_WORK = (
    MatMul, Einsum, Conv, Reduction, Scan, AssociativeScan, Fold, ScatterAdd, Draw, ExternJax,
    ArgMax, Sort, ArgSort, TopK,
)  # fmt: skip
_LARGE = 1000
"""What an extent that is not known counts as."""
_MOST = 10**60


def is_work(op: Op) -> bool:
    """Whether an operator does more than to pass over its operands once, or to move them."""
    return isinstance(op, _WORK)


def size(node: Node) -> int:
    """The number of elements of a node's results."""
    return sum(_count(t.shape) for t in node.types)


def made_from(graph: Graph, names: Container[str]) -> dict[str, int]:
    """From how many elements each of some nodes is made, without work, by way of the others.

    ``-broadcast_to(x)`` of a scalar is made from one element, however large it is.
    """
    found: dict[str, int] = {}
    for name in topological(graph):
        node = graph.nodes[name]
        if name not in names or not is_computed(node) or isinstance(node.op, Merge):
            continue
        if is_work(node.op):
            found[name] = size(node)
            continue
        operands = zip(node.inputs, operand_types(graph, node), strict=True)
        parts = {
            e.source: min(found.get(e.source, _LARGE**9), _count(t.shape)) for e, t in operands
        }
        found[name] = min(size(node), sum(parts.values()))
    return found


def _count(shape: tuple[Expr, ...]) -> int:
    return prod(e.value if isinstance(e, Const) else _LARGE for e in shape)
