"""The dtype of a number written among operands: that of the operation, as in JAX.

``x * 0.1`` with ``x`` in ``f64`` means the ``f64`` nearest to 0.1, not the ``f32`` widened.
"""

from __future__ import annotations

from tempoc.ops.control.control import Select
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.promotion import promote
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.source import Literal


def typed_literal(op: Op, operands: tuple[TensorType, ...], value: Scalar) -> Literal | None:
    """The number as a literal of the operation's dtype, ``None`` if it stays weak.

    ``operands`` are the types of all operands, including the weak type of the number. Incompatible
    operands, and numbers out of range, are left to ``infer``, which rejects them.
    """
    try:
        dtype, weak = _common(op, operands)
    except OperandError:
        return None
    if weak or not _holds(dtype, value):
        return None
    return Literal(value=value, dtype=dtype)


def _common(op: Op, operands: tuple[TensorType, ...]) -> tuple[DType, bool]:
    match op:
        case binary.Nary():
            return op.operand(operands)
        case Select():
            return promote(operands[1:])
        case _:
            return DType.F32, True


def common_dtype(op: Op, operands: tuple[TensorType, ...]) -> DType | None:
    """The dtype in which an operator computes with these operands, `None` if they do not fit."""
    try:
        return _common(op, operands)[0]
    except OperandError:
        return None


def _holds(dtype: DType, value: Scalar) -> bool:
    if dtype.is_float:
        return True
    if not dtype.is_int or isinstance(value, float):
        return False
    return value in dtype.integers
