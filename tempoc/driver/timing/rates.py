"""How long the operators of a point take: arithmetic, sorts, lines of text, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2, prod

from tempoc.base.cost_model import CostModel
from tempoc.ops.control.effects import EffectOp, Print
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.steps import typed_steps
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.indexing.search import Ordering
from tempoc.ops.random.draws import Draw, Permutation
from tempoc.ops.tensor.arithmetic import FloorDivide, Power, Remainder
from tempoc.ops.tensor.source import Full, Literal
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.symbolic.walk import evaluate

WIDE = (DType.F64, DType.I64)
"""The dtypes of 64 bits, with which arithmetic takes longer."""


def nanoseconds(graph: Graph, node: Node, at: Mapping[str, int], model: CostModel) -> float:
    """The time of a node at a point, without what a step or a call costs anyway."""
    types, made_by = operand_types(graph, node), operand_ops(graph, node)
    return operator_nanoseconds(node.op, types, node.types, at, model, made_by)


def operand_ops(graph: Graph, node: Node) -> tuple[Op, ...]:
    """The operators that make what a node reads."""
    return tuple(graph.nodes[e.source].op for e in node.inputs)


def operator_nanoseconds(
    op: Op,
    types: Types,
    results: Types,
    at: Mapping[str, int],
    model: CostModel,
    made_by: Sequence[Op | None] = (),
) -> float:
    """The same for an operator, of given operands and results; ``made_by``: what makes operands."""
    if isinstance(op, EffectOp):
        return _effect(op, types, at, model)
    if isinstance(op, Recurrence):
        return evaluate(op.count, at) * _step(op, types, at, model)
    count = evaluate(op.work(types, results), at)
    if isinstance(op, Ordering):
        return count * log2(max(2, extent_sorted(op, types, at))) * model.sorted_ns
    if isinstance(op, Draw):
        return _drawn(op, (*types[1:], *results), at, model)
    if raises_to_any_power(op, results, made_by):
        return count * model.power_ns
    if divides_by_any_integer(op, results, made_by):
        return count * model.integer_division_ns
    rate = model.summed_per_ns if op.contraction else model.elementwise_per_ns
    return count / rate * (1.0 + (model.f64_factor - 1.0) * wide_share(op, types, results, at))


def _drawn(op: Draw, types: Types, at: Mapping[str, int], model: CostModel) -> float:
    """One number for each element of what is drawn, or of the weights that say how."""
    count = max(prod(evaluate(e, at) for e in t.shape) for t in types)
    sorted_ns = log2(max(2, count)) * model.sorted_ns if isinstance(op, Permutation) else 0.0
    return count * (model.drawn_ns + sorted_ns)


def _step(op: Recurrence, types: Types, at: Mapping[str, int], model: CostModel) -> float:
    """The time of one step of a scan."""
    given = op.given(types)
    makers: list[Op | None] = [None] * len(given)
    total = 0.0
    for step in typed_steps(op.steps, given):
        made_by = [makers[k] for k in step.taken]
        total += operator_nanoseconds(step.op, step.operands, step.results, at, model, made_by)
        makers += [step.op] * len(step.results)
    return total


def raises_to_any_power(op: Op, results: Types, made_by: Sequence[Op | None]) -> bool:
    """Whether floats are raised to a power that is not known to be an integer."""
    if not isinstance(op, Power) or not results[0].dtype.is_float:
        return False
    exponent = _number(made_by)
    return exponent is None or exponent != int(exponent)


def divides_by_any_integer(op: Op, results: Types, made_by: Sequence[Op | None]) -> bool:
    """Whether integers are divided by what is known only when the program runs."""
    divides = isinstance(op, FloorDivide | Remainder) and results[0].dtype.is_int
    return divides and _number(made_by) is None


def _number(made_by: Sequence[Op | None]) -> float | None:
    """The second operand, if it is a number."""
    second = made_by[1] if len(made_by) == 2 else None
    return float(second.value) if isinstance(second, Literal | Full) else None


def wide_share(op: Op, types: Types, results: Types, at: Mapping[str, int]) -> float:
    """The fraction of its operations that an operator does with numbers of 64 bits."""
    if not isinstance(op, Recurrence):
        return float(any(t.dtype in WIDE for t in results))
    wide, total = 0, 0
    for step in typed_steps(op.steps, op.given(types)):
        count = evaluate(step.op.work(step.operands, step.results), at)
        total += count
        wide += count * any(t.dtype in WIDE for t in step.results)
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
