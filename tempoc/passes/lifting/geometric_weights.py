"""Geometric weights: recognizes ``g ** arange(n)`` along an axis, however it is written."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import ExpandDims, Flip
from tempoc.ops.tensor.source import Arange, IndexValue, Literal
from tempoc.passes.lifting.moving_range import MovingRange, Prefix
from tempoc.sdg.graph.graph import Edge, Graph
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import is_affine, substitute, symbols

_EXACT = (DType.I32, DType.I64, DType.F32, DType.F64)
"""The dtypes in which whole exponents are exact."""


@dataclass(frozen=True, slots=True)
class LinearExponent:
    """The whole number ``start + step * j`` at position ``j``; ``step`` is 0, 1 or -1."""

    step: int
    start: ix.Expr


@dataclass(frozen=True, slots=True)
class Powers:
    """``base`` raised to exponents that are linear in the position."""

    base: Edge
    exponent: LinearExponent

    def nearest_to(self, target: MovingRange, entry: ix.Slice) -> ix.Expr | None:
        """The exponent of the element that is nearest to the point; ``None`` if weights grow."""
        start, step = self.exponent.start, self.exponent.step
        if isinstance(target, Prefix):
            last = ix.sub(ix.sub(entry.hi, entry.lo), ix.ONE)
            return ix.add(start, ix.mul(ix.Const(step), last)) if step == -1 else None
        return start if step == 1 else None


def powers(graph: Graph, edge: Edge, place: int) -> Powers | None:
    """The powers along an axis of an operand, counted from its last axis.

    ``None`` if the operand has other values or other axes. The powers are computed at the reader's
    own point, or read in a slice of other points.
    """
    inner = _vector_operand(graph, edge, place)
    if inner is None:
        return None
    node = graph.nodes[inner.source]
    if not isinstance(node.op, binary.Power) or operand_type(graph, node.inputs[0]).shape:
        return None
    base, exponent = node.inputs
    if is_identity(inner, graph):
        linear = linear_exponent(graph, exponent)
        return Powers(base, linear) if linear is not None and linear.step else None
    return _sliced_powers(graph, inner)


def row_powers(graph: Graph, edge: Edge, place: int) -> Powers | None:
    """The powers along an axis of an operand that may have rows, each with a base of its own.

    ``place`` counts from its last axis. The base lacks the axis, or has one element along it.
    """
    single = powers(graph, edge, place)
    node = graph.nodes[edge.source]
    if single is not None or not isinstance(node.op, binary.Power) or not is_identity(edge, graph):
        return single
    base, exponent = node.inputs
    rows, steps = (operand_type(graph, e).shape[::-1] for e in node.inputs)
    if [k for k, extent in enumerate(steps, 1) if extent != ix.ONE] != [place]:
        return None
    if len(rows) >= place and rows[place - 1] != ix.ONE:
        return None
    linear = linear_exponent(graph, exponent)
    return Powers(base, linear) if linear is not None and linear.step else None


def _vector_operand(graph: Graph, edge: Edge, place: int) -> Edge | None:
    """The operand as a vector, if all other axes have one element."""
    shape = operand_type(graph, edge).shape
    axis = len(shape) - place
    if axis < 0 or any(e != ix.ONE for k, e in enumerate(shape) if k != axis):
        return None
    while operand_type(graph, edge).ndim > 1:
        node = graph.nodes[edge.source]
        if not isinstance(node.op, ExpandDims) or not is_identity(edge, graph):
            return None
        (edge,) = node.inputs
    return edge


def _sliced_powers(graph: Graph, edge: Edge) -> Powers | None:
    """Powers whose exponents are those of the points that a slice reads."""
    node = graph.nodes[edge.source]
    base, exponent = node.inputs
    pairs = list(zip(node.domain.dims, edge.entries, strict=True))
    sliced = [(d, e) for d, e in pairs if isinstance(e, ix.Slice)]
    at = {d: e for d, e in pairs if not isinstance(e, ix.Slice)}
    linear = linear_exponent(graph, exponent)
    if len(sliced) != 1 or node.types[0].shape or linear is None or linear.step:
        return None
    (dim, entry), start = sliced[0], linear.start
    offset = ix.sub(start, ix.Sym(dim))
    step = 1 if dim not in symbols(offset) else -1
    offset = ix.sub(start, ix.mul(ix.Const(step), ix.Sym(dim)))
    moves = any(dim in symbols(e) for e in base.entries)
    if dim in symbols(offset) or entry.step != 1 or moves or not _is_same_at(base, at):
        return None
    first = ix.add(ix.mul(ix.Const(step), entry.lo), substitute(offset, at))
    return Powers(base, LinearExponent(step, first))


def _is_same_at(base: Edge, at: dict[str, ix.Expr]) -> bool:
    """Whether the operand of another point is the same as at the point itself."""
    moved = [d for d, e in at.items() if e != ix.Sym(d)]
    return not any(d in symbols(e) for d in moved for e in base.entries)


def linear_exponent(graph: Graph, edge: Edge) -> LinearExponent | None:
    """The exponents in a vector or scalar, if they are linear in the position.

    Other axes have one element.

    The operand must be read at the reader's own point.
    """
    node = graph.nodes[edge.source]
    if not is_identity(edge, graph) or node.types[0].dtype not in _EXACT:
        return None
    match node.op:
        case Arange(start=start, step=step) if abs(step) == 1:
            return LinearExponent(step, start)
        case IndexValue(expr=e) if is_affine(e):
            return LinearExponent(0, e)
        case Literal(value=v) if float(v).is_integer():
            return LinearExponent(0, ix.Const(int(v)))
        case unary.Cast() | Copy():
            return linear_exponent(graph, node.inputs[0])
        case ExpandDims():
            return linear_exponent(graph, node.inputs[0])
        case unary.Negative():
            return _signed_sum(graph, node.inputs, (-1,))
        case binary.Add():
            return _signed_sum(graph, node.inputs, (1, 1))
        case binary.Subtract():
            return _signed_sum(graph, node.inputs, (1, -1))
        case Flip():
            linear, (extent, *more) = linear_exponent(graph, node.inputs[0]), node.types[0].shape
            if linear is None or more:
                return None
            last = ix.add(linear.start, ix.mul(ix.Const(linear.step), ix.sub(extent, ix.ONE)))
            return LinearExponent(-linear.step, last)
        case _:
            return None


def _signed_sum(
    graph: Graph, edges: tuple[Edge, ...], signs: tuple[int, ...]
) -> LinearExponent | None:
    """The sum of linear exponents, each with its sign; ``None`` if one is not linear."""
    lines = [linear_exponent(graph, e) for e in edges]
    linear = [x for x in lines if x is not None]
    if len(linear) < len(lines):
        return None
    step = sum(s * x.step for s, x in zip(signs, linear, strict=True))
    starts = (ix.mul(ix.Const(s), x.start) for s, x in zip(signs, linear, strict=True))
    return LinearExponent(step, ix.add(ix.ZERO, *starts)) if abs(step) <= 1 else None
