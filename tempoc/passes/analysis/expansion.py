"""Tensors that are larger than what they are made of.

An outer product of two vectors of 64 elements has 4096 and is made of 128; ``exp(dt * a)`` with
``dt`` of 64 and a fixed ``a`` of 64 x 16 has 1024 and is made of 64. Such a tensor is better made
anew at each step than stored for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Merge
from tempoc.ops.tensor.source import Input, Param
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.symbolic import expr as ix


def expands(graph: Graph, node: Node, dim: str) -> bool:
    """Whether a node makes much of little at a point of a dimension, one operation an element."""
    if dim not in node.domain.dims or not _is_simple(graph, node):
        return False
    size, origin = _elements(node.types[0].shape), origin_size(graph, node.inputs, dim)
    return size is not None and origin is not None and is_much_of_little(size, origin)


def is_much_of_little(size: int, origin: int) -> bool:
    """Whether tensors of so many elements are worth making anew from their origin at each step."""
    return size >= MODEL.made_elements and origin * MODEL.made_factor <= size


def sums_products(graph: Graph, node: Node) -> bool:
    """Whether a node is a contraction that sums, so that all points are one larger product."""
    return node.op.contraction and not _is_simple(graph, node)


def origin_size(graph: Graph, operands: Iterable[Edge], dim: str) -> int | None:
    """Elements at a point of ``dim`` from which operands can be made by an operation an element.

    What does not vary with the dimension counts nothing. ``None`` where an extent is not known.
    """
    sizes: dict[Edge, int | None] = {}

    def size(operand: Edge) -> int | None:
        if operand not in sizes:
            sizes[operand] = None  # a cycle: its states are not made anew
            own = _elements(operand_type(graph, operand).shape)
            origin = made_of(graph.nodes[operand.source])
            sizes[operand] = min((s for s in (own, origin) if s is not None), default=None)
        return sizes[operand]

    def made_of(node: Node) -> int | None:
        if dim not in node.domain.dims:
            return 0
        return total(node.inputs) if _is_simple(graph, node) else None

    def total(edges: Iterable[Edge]) -> int | None:
        known = [s for e in dict.fromkeys(edges) if (s := size(e)) is not None]
        return sum(known) if len(known) == len(dict.fromkeys(edges)) else None

    return total(tuple(operands))


def _elements(shape: tuple[ix.Expr, ...]) -> int | None:
    """The elements of a shape; ``None`` where an extent is not known."""
    count = ix.product(shape)
    return count.value if isinstance(count, ix.Const) else None


def _is_simple(graph: Graph, node: Node) -> bool:
    """Whether a node is computed by one operation for each element of its result and operand."""
    if isinstance(node.op, Input | Param | Merge) or len(node.types) != 1:
        return False
    if node.op.elementwise or node.op.moves or node.op.cheap:
        return True
    if not node.op.contraction:
        return False
    args = tuple(operand_type(graph, e) for e in node.inputs)
    work, elements = node.op.work(args, node.types), ix.product(node.types[0].shape)
    excess = ix.sub(work, ix.mul(ix.Const(max(1, len(args) - 1)), elements))
    return isinstance(excess, ix.Const) and excess.value <= 0
