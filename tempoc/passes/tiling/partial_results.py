"""How an operator's results on the parts of an axis combine to its result on the whole axis.

A sum of sums, a maximum of maxima, a `logsumexp` of `logsumexp`: the operator on a part, a neutral
element to start from, and the operator that combines the running value with one more part. Sums of
half precision accumulate in ``f32``. A mean is a sum that is divided in the end
(``Combination.divided``).
"""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.reduction import LogSumExp, Mean, Sum


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
    monoid, divided = op.monoid, isinstance(op, Mean)
    if monoid is None or (divided and not args[0].dtype.is_float):
        return None
    return Combination(
        part=Sum(axes=op.axes, keepdims=op.keepdims) if isinstance(op, Mean) else op,
        more=monoid.combine or LogSumExp(axes=(0,)),
        start=monoid.identity(dtype),
        dtype=dtype if monoid.exact else dtype.wide,
        stacked=monoid.combine is None,
        divided=divided,
    )
