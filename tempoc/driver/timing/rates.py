"""How long the operators of a point take: arithmetic, sorts, lines of text, files."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2, prod

from tempoc.base.cost_model import CostModel
from tempoc.ops.control.effects import EffectOp, Print
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.steps import typed_steps
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.indexing.search import Ordering
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.symbolic.walk import evaluate


def nanoseconds(graph: Graph, node: Node, at: Mapping[str, int], model: CostModel) -> float:
    """The time of a node at a point, without what a step or a call costs anyway."""
    return operator_nanoseconds(node.op, operand_types(graph, node), node.types, at, model)


def operator_nanoseconds(
    op: Op, types: Types, results: Types, at: Mapping[str, int], model: CostModel
) -> float:
    """The same for an operator, of given operands and results."""
    if isinstance(op, EffectOp):
        return _effect(op, types, at, model)
    count = evaluate(op.work(types, results), at)
    if isinstance(op, Ordering):
        return count * log2(max(2, extent_sorted(op, types, at))) * model.sorted_ns
    steps = op.steps if isinstance(op, Recurrence) else ()
    summed = op.contraction or any(x.contraction for x, _, _ in steps)
    rate = model.summed_per_ns if summed else model.elementwise_per_ns
    return count / rate * (1.0 + (model.f64_factor - 1.0) * wide_share(op, types, results, at))


def wide_share(op: Op, types: Types, results: Types, at: Mapping[str, int]) -> float:
    """The fraction of its operations that an operator does in double precision."""
    if not isinstance(op, Recurrence):
        return float(any(t.dtype is DType.F64 for t in results))
    wide, total = 0, 0
    for step in typed_steps(op.steps, op.given(types)):
        count = evaluate(step.op.work(step.operands, step.results), at)
        total += count
        wide += count * any(t.dtype is DType.F64 for t in step.results)
    return wide / (total or 1)


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
