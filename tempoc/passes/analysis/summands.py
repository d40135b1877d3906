"""Sums over a dimension, but for some points at its ends, and the summand at each point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.contraction import Einsum
from tempoc.ops.tensor.reduction import Mean, Sum
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.symbolic import expr as ix

EXACT = (DType.F32, DType.F64, DType.I32, DType.I64, DType.U32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summand:
    """The summand at a point of ``dim``: an operator and its operands, read at that point.

    ``points`` are those that are summed.
    """

    dim: str
    op: Op
    inputs: tuple[Edge, ...]
    points: ix.Slice

    def within(self, bound: ix.Expr) -> ix.Expr:
        """The condition for a point of a dimension of this size to be summed."""
        at, ends = ix.Sym(self.dim), []
        if self.points.lo != ix.ZERO:
            ends.append(ix.compare(">=", at, self.points.lo))
        if self.points.hi != bound:
            ends.append(ix.compare("<", at, self.points.hi))
        return ix.conjunction(*ends)


def nested(graph: Graph, terms: Sequence[Summand]) -> list[Summand]:
    """Those of the summands of a node whose dimensions can be loops around each other.

    One that may have no point has none around it, which would have nothing to go on from.
    """
    bounds = {t.dim: ix.Sym(graph.universe.dim(t.dim).bound) for t in terms}
    return [t for t in terms if t.within(bounds[t.dim]) == ix.TRUE] or [*terms[:1]]


def is_small_sum(graph: Graph, node: Node, limit: int = MODEL.carried_elements) -> bool:
    """Whether a node sums over a dimension, to at most ``limit`` elements."""
    size = 1
    for e in node.types[0].shape if node.types else ():
        if not isinstance(e, ix.Const):
            return False
        size *= e.value
    return len(node.types) == 1 and size <= limit and bool(summands(graph, node))


def summands(graph: Graph, node: Node) -> tuple[Summand, ...]:
    """The summands of a node, for each dimension over which it sums.

    None for dtypes in which adding one by one loses precision (16-bit floats).
    """
    types = operand_types(graph, node)
    if node.types[0].dtype not in EXACT or any(t.dtype != node.types[0].dtype for t in types):
        return ()
    match node.op:
        case Sum(keepdims=False) | Mean(keepdims=False) if type(node.op) in (Sum, Mean):
            return tuple(_of_sum(graph, node, types[0].ndim))
        case Einsum():
            return tuple(_of_einsum(graph, node, tuple(t.ndim for t in types)))
        case _:
            return ()


def _of_sum(graph: Graph, node: Node, rank: int) -> Iterator[Summand]:
    assert isinstance(node.op, Sum | Mean)
    (edge,) = node.inputs
    axes = axes_of(node.op.axes, rank)
    for axis, dim, points in _long_axes(graph, node, edge):
        if axis in axes:
            other_axes = tuple(a - (a > axis) for a in axes if a != axis)
            op = Sum(axes=other_axes) if other_axes else Copy()
            inputs = (_at_points(graph, edge, {dim: dim}),)
            yield Summand(dim=dim, op=op, inputs=inputs, points=points)


def _of_einsum(graph: Graph, node: Node, ranks: tuple[int, ...]) -> Iterator[Summand]:
    assert isinstance(node.op, Einsum)
    operands, result = node.op.letters(ranks)
    # For each letter the slices that it stands for, as (operand, dimension, points).
    slices_of: dict[str, list[tuple[int, str, ix.Slice]]] = {}
    for slot, edge in enumerate(node.inputs):
        for axis, dim, points in _long_axes(graph, node, edge):
            slices_of.setdefault(operands[slot][axis], []).append((slot, dim, points))
    for letter, occurrences in slices_of.items():
        in_all_operands = len(occurrences) == "".join(operands).count(letter)
        bounds = {(graph.universe.dim(dim).bound, points) for _, dim, points in occurrences}
        if letter in result or not in_all_operands or len(bounds) > 1:
            continue
        _, dim, points = occurrences[0]
        spec = ",".join(o.replace(letter, "") for o in operands) + f"->{result}"
        inputs = tuple(
            _at_points(graph, edge, {d: dim for s, d, _ in occurrences if s == slot})
            for slot, edge in enumerate(node.inputs)
        )
        yield Summand(dim=dim, op=replace(node.op, spec=spec), inputs=inputs, points=points)


def _long_axes(graph: Graph, node: Node, edge: Edge) -> Iterator[tuple[int, str, ix.Slice]]:
    """The axes of an operand that are dimensions but for ends, none of them in the node's domain.

    Yields the axis, the dimension, and its points.
    """
    axis = 0
    for dim, entry in zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True):
        if isinstance(entry, ix.Slice):
            bound = ix.Sym(graph.universe.dim(dim).bound)
            ends = entry.lo, ix.sub(bound, entry.hi)
            is_long = all(isinstance(e, ix.Const) and e.value >= 0 for e in ends)
            if is_long and entry.step == 1 and dim not in node.domain.dims:
                yield axis, dim, entry
            axis += 1


def _at_points(graph: Graph, edge: Edge, points: dict[str, str]) -> Edge:
    """The edge with single points in place of the slices of these dimensions."""
    dims = graph.nodes[edge.source].domain.dims
    pairs = zip(dims, edge.entries, strict=True)
    entries = tuple(
        ix.Sym(points[d]) if d in points and isinstance(e, ix.Slice) else e for d, e in pairs
    )
    return replace(edge, entries=entries)
