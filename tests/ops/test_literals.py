"""Numbers take the dtype of the operation they stand in."""

from __future__ import annotations

import pytest

from tempoc.frontend.expressions.weak_literals import typed_literal
from tempoc.ops.control.control import Select
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.arithmetic import Divide, Greater, Multiply
from tempoc.ops.tensor.elementwise import Exp
from tempoc.ops.tensor.source import Literal

WEAK_FLOAT, WEAK_INT = TensorType(DType.F32, weak=True), TensorType(DType.I32, weak=True)


@pytest.mark.parametrize(
    ("op", "other", "value", "dtype"),
    [
        (Multiply(), DType.F64, 0.1, DType.F64),
        (Greater(), DType.BF16, 0.1, DType.BF16),
        (Multiply(), DType.F32, 2, DType.F32),
        (Multiply(), DType.I64, 3_000_000_000, DType.I64),
        (Divide(), DType.I32, 2, DType.F32),
        (Multiply(), DType.I32, 0.5, None),
        (Multiply(), DType.U32, -1, None),
        (Exp(), DType.F32, 1.0, None),
    ],
)
def test_settled(op: Op, other: DType, value: float, dtype: DType | None) -> None:
    weak = WEAK_FLOAT if isinstance(value, float) else WEAK_INT
    expected = None if dtype is None else Literal(value=value, dtype=dtype)
    assert typed_literal(op, (TensorType(other), weak), value) == expected


def test_a_condition_does_not_count() -> None:
    types = (TensorType(DType.BOOL), TensorType(DType.F16), WEAK_FLOAT)
    assert typed_literal(Select(), types, 0.0) == Literal(value=0.0, dtype=DType.F16)


def test_weak_operands_stay_weak() -> None:
    assert typed_literal(Multiply(), (WEAK_FLOAT, WEAK_INT), 2) is None
