"""Tensor types: a dtype and a symbolic shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tempoc.symbolic.expr import Expr


class DType(Enum):
    """The dtypes of the language; the value is the name in ``.rt`` sources."""

    BOOL = "bool"
    I8 = "i8"
    U8 = "u8"
    I32 = "i32"
    I64 = "i64"
    U32 = "u32"
    BF16 = "bf16"
    F16 = "f16"
    F32 = "f32"
    F64 = "f64"
    KEY = "key"

    @property
    def is_float(self) -> bool:
        """Whether values are floating point numbers."""
        return self in (DType.BF16, DType.F16, DType.F32, DType.F64)

    @property
    def is_int(self) -> bool:
        """Whether values are integers (``bool`` and ``key`` are not)."""
        return self in (DType.I8, DType.U8, DType.I32, DType.I64, DType.U32)

    @property
    def is_unsigned(self) -> bool:
        """Whether values are integers from 0 on."""
        return self in (DType.U8, DType.U32)

    @property
    def is_byte(self) -> bool:
        """Whether values are integers of 8 bits."""
        return self in (DType.I8, DType.U8)

    @property
    def is_half(self) -> bool:
        """Whether values are floating point numbers of 16 bits."""
        return self in (DType.BF16, DType.F16)

    @property
    def is_double(self) -> bool:
        """Whether values are numbers of 64 bits."""
        return self in (DType.I64, DType.F64)

    @property
    def itemsize(self) -> int:
        """The bytes of an element, of which a random key has two."""
        if self.is_byte or self is DType.BOOL:
            return 1
        return 2 if self.is_half else 8 if self.is_double else 4

    @property
    def wide(self) -> DType:
        """The dtype in which values are accumulated: single precision for halves."""
        return DType.F32 if self.is_half else self

    @property
    def integers(self) -> range:
        """The integers that an integer dtype holds."""
        bits = int(self.value[1:])
        return range(2**bits) if self.is_unsigned else range(-(2 ** (bits - 1)), 2 ** (bits - 1))

    def reaches(self, value: int) -> bool:
        """Whether a number that is written can meet this integer dtype: it has the number, or the
        number is negative and wraps around."""
        return value in self.integers or (self.is_unsigned and -len(self.integers) <= value < 0)


WIDE_RANGE = (DType.BF16, DType.F32, DType.F64)
"""Floating point with so many exponents that the product of a few ordinary numbers is finite."""

LOSSLESS: Mapping[DType, tuple[DType, ...]] = {
    DType.BOOL: (
        DType.I8, DType.U8, DType.I32, DType.I64, DType.U32, DType.BF16, DType.F16, DType.F32,
        DType.F64,
    ),
    DType.I8: (DType.I32, DType.I64, DType.BF16, DType.F16, DType.F32, DType.F64),
    DType.U8: (DType.I32, DType.I64, DType.U32, DType.BF16, DType.F16, DType.F32, DType.F64),
    DType.I32: (DType.I64, DType.F64),
    DType.U32: (DType.I64, DType.F64),
    DType.BF16: (DType.F32, DType.F64),
    DType.F16: (DType.F32, DType.F64),
    DType.F32: (DType.F64,),
}  # fmt: skip
"""Injective conversions by source dtype: a conversion after them may skip them."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """``dtype[shape]``; extents are index expressions over bounds and dimensions of the domain.

    ``weak`` marks a type that comes from literals alone and gives way in promotions, as in JAX.
    """

    dtype: DType
    shape: tuple[Expr, ...] = ()
    weak: bool = False

    @property
    def ndim(self) -> int:
        """The number of spatial axes."""
        return len(self.shape)


Types = tuple[TensorType, ...]
