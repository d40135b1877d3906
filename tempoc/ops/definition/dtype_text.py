"""Dtypes and numbers as NumPy objects for evaluation, and as JAX text for kernels."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from tempoc.base.arrays import ml_dtypes, np
from tempoc.ops.definition.types import DType
from tempoc.program.nodes.dtypes import ELEMENTS

Scalar = bool | int | float

_PACKED = {DType.F64: "<d", DType.F32: "<f", DType.F16: "<e"}
_JAX = {d: f"jnp.{ELEMENTS[d.value]}{'_' * (d is DType.BOOL)}" for d in DType}


@cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """NumPy's dtype of that name (bf16 is the one of ``ml_dtypes``)."""
    return np.dtype(ml_dtypes.bfloat16 if dtype is DType.BF16 else ELEMENTS[dtype.value])


def dtype_of(dtype: np.dtype[Any]) -> DType:
    """The language's dtype of an array. ``KeyError`` for a dtype that the language lacks."""
    return _meant()[dtype]


@cache
def _meant() -> dict[np.dtype[Any], DType]:
    return {numpy_dtype(d): d for d in DType if d is not DType.KEY}


def ufunc(name: str) -> np.ufunc:
    """NumPy's function of that name."""
    function: np.ufunc = getattr(np, name)
    return function


def jax_dtype(dtype: DType) -> str:
    """The dtype in emitted code, ``jnp.float32``."""
    return _JAX[dtype]


def tupled(texts: Sequence[str]) -> str:
    """A tuple in emitted code, of one element too."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def scalar(value: Scalar, dtype: DType) -> str:
    """A number of that dtype in emitted code, ``jnp.float32(0.5)``."""
    return f"{_JAX[dtype]}({number(value, dtype)})"


_BARE = re.compile(r"jnp\.(?:float32|float64|int32|int64)\((-?(?:\d[\d.e+-]*|jnp\.\w+))\)")


def bare(text: str) -> str:
    """A number as emitted by ``scalar``, without its dtype: JAX promotes it to the other operand's.

    Half precision numbers keep theirs, since JAX would round twice.
    """
    match = _BARE.fullmatch(text)
    return match[1] if match else text


def paired(a: str, b: str) -> tuple[str, str]:
    """Two operands of one dtype; a number beside an array loses its explicit dtype."""
    shorter = bare(a), bare(b)
    return (a, b) if shorter[0] != a and shorter[1] != b else shorter


def number(value: Scalar, dtype: DType) -> str:
    """The number alone, as a Python literal or a constant of ``jnp``; the shortest text."""
    if dtype is DType.BOOL:
        return str(bool(value))
    if not dtype.is_float:
        return str(int(value))
    value = float(value)
    try:
        nearest(value, DType.F32 if dtype is DType.BF16 else dtype)
    except OverflowError:  # JAX makes it infinite, too, but warns of it
        value = math.copysign(math.inf, value)
    if math.isnan(value):
        return "jnp.nan"
    if math.isinf(value):
        return "jnp.inf" if value > 0 else "-jnp.inf"
    return repr(value)


def nearest(value: float, dtype: DType) -> float:
    """The nearest number of ``f64``, ``f32`` or ``f16``. Raises ``OverflowError`` beyond all."""
    (number,) = struct.unpack(_PACKED[dtype], struct.pack(_PACKED[dtype], value))
    return float(number)


def least(dtype: DType) -> str:
    """The neutral element of ``max``: no value of the dtype is smaller."""
    if dtype is DType.BOOL:
        return scalar(False, dtype)
    return scalar(-math.inf if dtype.is_float else int(np.iinfo(numpy_dtype(dtype)).min), dtype)


def greatest(dtype: DType) -> str:
    """The neutral element of ``min``: no value of the dtype is greater."""
    if dtype is DType.BOOL:
        return scalar(True, dtype)
    return scalar(math.inf if dtype.is_float else int(np.iinfo(numpy_dtype(dtype)).max), dtype)


def lowest(dtype: DType) -> float:
    """The least finite number of a float dtype."""
    return float(ml_dtypes.finfo(numpy_dtype(dtype)).min)  # type: ignore[no-untyped-call]


def cast(text: str, have: DType, want: DType) -> str:
    """An array's text converted from one dtype to another, unchanged where they agree.

    From ``bool`` to a float by way of ``i32``: XLA would turn ``convert(b) * y`` into
    ``select(b, y, 0)``, which is 0 and not NaN where ``b`` is false and ``y`` infinite or NaN.
    """
    if have is DType.BOOL and want.is_float:
        text, have = cast(text, have, DType.I32), DType.I32
    return text if have is want else f"{text}.astype({_JAX[want]})"
