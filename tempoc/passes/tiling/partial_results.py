"""How an operator's results on the parts of an axis combine to its result on the whole axis.

A sum of sums, a maximum of maxima, a `logsumexp` of `logsumexp`: the operator on a part, a neutral
element to start from, and the operator that combines the running value with one more part. Sums of
half precision accumulate in ``f32``. A mean is a sum that is divided in the end
(``Combination.divided``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.tensor.arithmetic import Add, And, Maximum, Minimum, Multiply, Or
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.reduction import (
    HALVES,
    All,
    Any,
    LogSumExp,
    Max,
    Mean,
    Min,
    Prod,
    Sum,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """``part`` runs on each part of the axis; from ``start`` on, ``more`` combines the results.

    ``more`` takes two operands; with ``stacked``, one operand with them as its two rows. Running
    values are of ``dtype``. ``divided``: the total is divided by the number of elements.
    """

    part: Op
    more: Op
    start: Scalar
    dtype: DType
    stacked: bool = False
    divided: bool = False


def combination(op: Op, args: tuple[TensorType, ...], dtype: DType) -> Combination | None:
    """How an operator that reduces an axis is computed part by part; ``None`` if it cannot be."""
    wide = DType.F32 if dtype in HALVES else dtype
    match op:
        case Mean(axes=axes, keepdims=kept) if args[0].dtype.is_float:
            part = Sum(axes=axes, keepdims=kept)
            return Combination(part=part, more=Add(), start=0.0, dtype=wide, divided=True)
        case Prod():
            one: Scalar = 1.0 if dtype.is_float else 1
            return Combination(part=op, more=Multiply(), start=one, dtype=wide)
        case Sum() | MatMul() | Einsum() | ScatterAdd():
            zero: Scalar = 0.0 if dtype.is_float else 0
            return Combination(part=op, more=Add(), start=zero, dtype=wide)
        case Min():
            return Combination(part=op, more=Minimum(), start=_last(dtype, 1), dtype=dtype)
        case Max():
            return Combination(part=op, more=Maximum(), start=_last(dtype, -1), dtype=dtype)
        case All():
            return Combination(part=op, more=And(), start=True, dtype=dtype)
        case Any():
            return Combination(part=op, more=Or(), start=False, dtype=dtype)
        case LogSumExp():
            more = LogSumExp(axes=(0,))
            return Combination(part=op, more=more, start=-math.inf, dtype=wide, stacked=True)
        case _:
            return None


def _last(dtype: DType, sign: int) -> Scalar:
    """The greatest value of a dtype, or the least."""
    if dtype is DType.BOOL:
        return sign > 0
    if dtype.is_float:
        return sign * math.inf
    return dtype.integers[-1 if sign > 0 else 0]
