"""The monoids of reductions, scans and windows."""

from __future__ import annotations

import math
from collections.abc import Callable

from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Monoid
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.arithmetic import Add, And, Maximum, Minimum, Multiply, Or


def _number(value: int) -> Callable[[DType], Scalar]:
    def identity(dtype: DType) -> Scalar:
        return bool(value) if dtype is DType.BOOL else float(value) if dtype.is_float else value

    return identity


def _least(dtype: DType) -> Scalar:
    if dtype is DType.BOOL:
        return False
    return -math.inf if dtype.is_float else dtype.integers[0]


def _greatest(dtype: DType) -> Scalar:
    if dtype is DType.BOOL:
        return True
    return math.inf if dtype.is_float else dtype.integers[-1]


SUM = Monoid(name="sum", numpy="add", identity=_number(0), combine=Add(), lax="lax.add")
PROD = Monoid(name="prod", numpy="multiply", identity=_number(1), combine=Multiply(), lax="lax.mul")
MAX = Monoid(
    name="max", numpy="maximum", identity=_least, combine=Maximum(), lax="lax.max", exact=True
)
MIN = Monoid(
    name="min", numpy="minimum", identity=_greatest, combine=Minimum(), lax="lax.min", exact=True
)
ANY = Monoid(
    name="any",
    numpy="logical_or",
    identity=_number(0),
    combine=Or(),
    lax="lax.bitwise_or",
    exact=True,
)
ALL = Monoid(
    name="all",
    numpy="logical_and",
    identity=_number(1),
    combine=And(),
    lax="lax.bitwise_and",
    exact=True,
)
LOGSUMEXP = Monoid(name="logsumexp", numpy="logaddexp", identity=_least)
