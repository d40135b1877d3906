"""The dtype of a number written among operands: that of the operation, as in JAX.

``x * 0.1`` with ``x`` in ``f64`` means the ``f64`` nearest to 0.1, not the ``f32`` widened. So do
numbers among which a condition chooses, as in ``x * (0.1 if t == 0 else 0.3)``, and those of
which a tensor is laid out, as in ``x * stack([0.1, 0.2])``; what operators
make of numbers and indices is computed in ``f64``, too: ``x * 0.9 ** t``. Named tensors keep their
dtype.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, Wire
from tempoc.frontend.environment.round import Round
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Merge, Select
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.promotion import PromotedType, promote
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import Pad
from tempoc.ops.tensor.source import Literal


def typed_literal(op: Op, operands: tuple[TensorType, ...], value: Scalar) -> Literal | None:
    """The number as a literal of the operation's dtype, ``None`` if it stays weak.

    ``operands`` are the types of all operands, including the weak type of the number. Incompatible
    operands, and numbers out of range, are left to ``infer``, which rejects them.
    """
    dtype, weak = common_dtype(op, operands)
    if weak or not holds(dtype, value):
        return None
    return Literal(value=value, dtype=dtype)


def common_dtype(op: Op, operands: tuple[TensorType, ...]) -> PromotedType:
    """The dtype in which an operator computes with these operands, and whether it is weak.

    Weak where the operands do not fit, or do not meet. Positions are none of the operands here.
    """
    try:
        match op:
            case binary.Nary():
                return op.operand(operands)
            case Select():
                return promote(operands[1:])
            case op if op.promotes or op.contraction:
                return promote(operands)
            case unary.Cast():
                return op.dtype, False
            case _:
                return DType.F32, True
    except OperandError:
        return DType.F32, True


def holds(dtype: DType, value: Scalar) -> bool:
    """Whether a number as it is written is one of a dtype, floats rounded."""
    if dtype.is_float:
        return True
    if not dtype.is_int or isinstance(value, float):
        return False
    return value in dtype.integers


def is_literal(value: val.Value) -> bool:
    """Whether a leaf is a number, or one of some numbers at each point: it fits every shape."""
    if isinstance(value, val.Ref):
        return value.type.ndim == 0 and bool(numbers_of(value))
    return isinstance(value, val.ConstantNumber)


def numbers_of(value: val.Value) -> tuple[Scalar, ...]:
    """The numbers that a leaf is, chooses from or is laid out of; none of other leaves."""
    if isinstance(value, val.ConstantNumber):
        return () if isinstance(value.value, bool) else (value.value,)
    if not isinstance(value, val.Ref) or not value.type.weak:
        return ()
    drafts = _computation(value.draft, operators=False)
    return tuple(d.op.value for d in drafts if isinstance(d.op, Literal | Pad))


def retyped(round: Round, value: val.Ref, dtype: DType, weak: bool = False) -> val.Ref:
    """A leaf, with the numbers among which conditions choose as numbers of a dtype.

    Of ``f64`` is also what operators compute from numbers. Anything else stays as it is.
    """
    if not value.type.weak or value.type.dtype is dtype:
        return value
    made: dict[Draft, Draft] = {}
    for draft in _computation(value.draft, operators=dtype is DType.F64):
        made[draft] = round.add(_of_dtype(draft, dtype, weak, made))
    if not made:
        return value
    type = replace(value.type, dtype=dtype, weak=weak)
    return replace(value, draft=made[value.draft], type=type)


def _computation(draft: Draft, operators: bool) -> list[Draft]:
    """The nodes by which numbers alone make a node, operands first; none if there is more to it."""
    ordered: dict[Draft, None] = {}
    stack = [draft]
    while stack:
        wires = _weak_operands(stack[-1], operators)
        if wires is None:
            return []
        missing = [w.source for w in wires if w.source not in ordered]
        if not missing:
            ordered[stack.pop()] = None
        stack += missing
    return list(ordered)


def _weak_operands(draft: Draft, operators: bool) -> list[Wire] | None:
    """The operands that take another dtype with a node; ``None`` if the node cannot."""
    if draft.role != "temporary" or draft.doubt or not draft.types[0].weak:
        return None
    match draft.op:
        case Literal():
            return []
        case Cond():
            return draft.inputs[1:]
        case Merge():
            return _laid_out(draft)
        case op if op is not None and (op.moves or isinstance(op, Pad | Select)):
            return _laid_out(draft)
        case op if op is not None and op.picks:
            return draft.inputs[:1]
        case unary.Cast() if operators:  # of integers, where numbers or they are chosen
            return [w for w in draft.inputs if _takes_part(draft, w)]
        case op if op is not None and operators and draft.types[0].dtype.is_float:
            return [w for w in draft.inputs if _takes_part(draft, w)] or None
        case _:
            return None


def _laid_out(draft: Draft) -> list[Wire] | None:
    """The operands that take the dtype of what is chosen from them or laid out of them.

    Integers that operators compute stay among floats what they are.
    """

    def takes_part(wire: Wire) -> bool:
        type = wire.source.types[wire.out]
        alike = type.dtype is draft.types[0].dtype
        return type.weak and (alike or bool(_computation(wire.source, operators=False)))

    return [w for w in draft.inputs if takes_part(w)] or None


def _takes_part(draft: Draft, wire: Wire) -> bool:
    """Whether an operand of an operator on numbers takes its dtype: integers are computed first.

    Of operators with several operands some integers are positions.
    """
    type, op = wire.source.types[wire.out], draft.op
    if not type.weak or type.dtype.is_float or op is None:
        return type.weak
    no_position = len(draft.inputs) == 1 or op.contraction or isinstance(op, binary.Nary)
    return no_position and bool(_computation(wire.source, operators=False))


def _of_dtype(draft: Draft, dtype: DType, weak: bool, made: Mapping[Draft, Draft]) -> Draft:
    """A node of numbers that computes in another dtype, as its operands do."""
    op = draft.op
    if isinstance(op, Literal):
        value = float(op.value) if dtype.is_float else op.value
        op = replace(op, value=value, dtype=dtype, weak=weak)
    elif isinstance(op, unary.Cast):
        op = replace(op, dtype=dtype)
    inputs = [replace(w, source=made.get(w.source, w.source)) for w in draft.inputs]
    for wire in inputs:
        wire.source.uses += 1
    types = tuple(replace(t, dtype=dtype, weak=weak) if t.weak else t for t in draft.types)
    return replace(draft, op=op, inputs=inputs, types=types, uses=0)
