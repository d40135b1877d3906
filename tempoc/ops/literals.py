"""The dtype of a number written among operands: that of the operation, as in JAX.

``x * 0.1`` with ``x`` in ``f64`` means the ``f64`` nearest to 0.1, not the ``f32`` widened.
"""

from __future__ import annotations

from tempoc.ops.arithmetic import Nary
from tempoc.ops.control import Select
from tempoc.ops.opdef import Op, OperandError
from tempoc.ops.promote import promote
from tempoc.ops.source import Literal
from tempoc.ops.spell import Number
from tempoc.ops.types import DType, TensorType


def settled(op: Op, operands: tuple[TensorType, ...], value: Number) -> Literal | None:
    """The number as the operation wants it, ``None`` where it stays weak.

    ``operands`` are the types of all operands, the number's among them (weak). Operands that do not
    fit each other are left to ``infer`` to refuse, as are numbers that the dtype does not have.
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
        case Nary():
            return op.operand(operands)
        case Select():
            return promote(operands[1:])
        case _:
            return DType.F32, True


def _holds(dtype: DType, value: Number) -> bool:
    if dtype.is_float:
        return True
    if not dtype.is_int or isinstance(value, float):
        return False
    return value in dtype.integers
