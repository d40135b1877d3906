"""How long the operators of a point take: arithmetic, sorts, lines of text, files."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2, prod

from tempoc.base.cost_model import CostModel
from tempoc.ops.control.effects import EffectOp, Print
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.indexing.search import Ordering
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.symbolic.walk import evaluate


def nanoseconds(graph: Graph, node: Node, at: Mapping[str, int], model: CostModel) -> float:
    """The time of a node at a point, without what a step or a call costs anyway."""
    types = operand_types(graph, node)
    if isinstance(node.op, EffectOp):
        return _effect(node.op, types, at, model)
    count = evaluate(node.op.work(types, node.types), at)
    if isinstance(node.op, Ordering):
        return count * log2(max(2, extent_sorted(node.op, types, at))) * model.sorted_ns
    steps = node.op.steps if isinstance(node.op, Recurrence) else ()
    summed = node.op.contraction or any(op.contraction for op, _, _ in steps)
    rate = model.summed_per_ns if summed else model.elementwise_per_ns
    return count / rate * (model.f64_factor if is_wide(node) else 1.0)


def is_wide(node: Node) -> bool:
    """Whether a node computes in double precision."""
    return any(t.dtype is DType.F64 for t in node.types)


def extent_sorted(op: Ordering, types: Types, at: Mapping[str, int]) -> int:
    """How many elements are put in order at a time."""
    return evaluate(types[0].shape[axis_of(op.axis, types[0].ndim)], at)


def numbers_shown(types: Types, at: Mapping[str, int]) -> int:
    """The elements of what a line shows."""
    return sum(prod(evaluate(e, at) for e in t.shape) for t in types)


def _effect(
    op: EffectOp, types: tuple[TensorType, ...], at: Mapping[str, int], model: CostModel
) -> float:
    if op.conditional:
        return 0.0  # how often the data say so is not known, and rarely is what is meant
    if not isinstance(op, Print):
        return model.saved_file_ns
    return model.printed_line_ns + numbers_shown(types, at) * model.printed_number_ns
