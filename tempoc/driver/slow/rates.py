"""How long the operators of a point take: arithmetic, sorts, lines of text, files."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2, prod

from tempoc.base.cost_model import CostModel
from tempoc.ops.control.effects import EffectOp, Print
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.steps import OpStep
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
    summed = op.contraction or any(x.contraction for x, _, _ in steps_of(op))
    rate = model.summed_per_ns if summed else model.elementwise_per_ns
    return count / rate * (model.f64_factor if is_wide(op, results) else 1.0)


def is_wide(op: Op, results: Types) -> bool:
    """Whether an operator computes in double precision, or a step of a scan does."""
    inside = (d for _, _, dtypes in steps_of(op) for d in dtypes)
    return any(d is DType.F64 for d in (*(t.dtype for t in results), *inside))


def steps_of(op: Op) -> tuple[OpStep, ...]:
    """The steps of a scan; none of other operators."""
    return op.steps if isinstance(op, Recurrence) else ()


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
