"""Type promotion: JAX's lattice of dtypes, with weak types.

``bool -> i* -> i8, u8 -> i32 -> i64 -> f* -> bf16, f16 -> f32 -> f64``, and ``u8 -> u32 -> i64``,
where ``i*`` and ``f*`` are weak (numbers written in the program, and what is computed from such
numbers alone). The result is the least common successor. As in JAX with 64-bit mode off, 64 bits
appear only where an operand has them: ``i32`` with ``u32`` is ``i32``, and what is weak counts as
32 bits. There are no dtypes of 16 bits, so ``i8`` with ``u8`` is ``i32``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from tempoc.ops.definition.dtype_text import dtype_of, numpy_dtype
from tempoc.ops.definition.operator import Array, OperandError
from tempoc.ops.definition.types import DType, TensorType

PromotedType = tuple[DType, bool]
"""A dtype, and whether it is weak."""

_WEAK_INT: PromotedType = (DType.I32, True)
_WEAK_FLOAT: PromotedType = (DType.F32, True)
# All that a kind can be promoted to, itself included, lowest first.
_ABOVE: dict[PromotedType, tuple[PromotedType, ...]] = {}


def _declare(kind: PromotedType, *successors: PromotedType) -> None:
    above: dict[PromotedType, None] = {kind: None}
    for successor in successors:
        above.update(dict.fromkeys(_ABOVE[successor]))
    _ABOVE[kind] = tuple(above)


_declare((DType.F64, False))
_declare((DType.F32, False), (DType.F64, False))
_declare((DType.F16, False), (DType.F32, False))
_declare((DType.BF16, False), (DType.F32, False))
_declare(_WEAK_FLOAT, (DType.BF16, False), (DType.F16, False))
_declare((DType.I64, False), _WEAK_FLOAT)
_declare((DType.I32, False), (DType.I64, False))
_declare((DType.U32, False), (DType.I64, False))
_declare((DType.I8, False), (DType.I32, False))
_declare((DType.U8, False), (DType.I32, False), (DType.U32, False))
_declare(_WEAK_INT, (DType.I8, False), (DType.U8, False))
_declare((DType.BOOL, False), _WEAK_INT)


def kind_of(type: TensorType) -> PromotedType:
    """Dtype and weakness of a type; only ``i32`` and ``f32`` are ever weak."""
    return type.dtype, type.weak


def join(a: PromotedType, b: PromotedType) -> PromotedType:
    """The least kind that both can be promoted to. ``OperandError`` for a key with another."""
    if a == b:
        return a
    if DType.KEY in (a[0], b[0]):
        raise OperandError(
            f"a random key does not combine with {_name(b if a[0] is DType.KEY else a)}"
        )
    shared = [kind for kind in _ABOVE[a] if kind in _ABOVE[b]]
    low = max(shared, key=lambda kind: len(_ABOVE[kind]))
    return (DType.I32, False) if low[0] is DType.I64 and DType.I64 not in (a[0], b[0]) else low


def _name(kind: PromotedType) -> str:
    return kind[0].value


def is_below(a: TensorType, b: TensorType) -> bool:
    """Whether the kind of `a` can be promoted to that of `b`, and is another."""
    return kind_of(a) != kind_of(b) and kind_of(b) in _ABOVE.get(kind_of(a), ())


def promote(types: Iterable[TensorType]) -> PromotedType:
    """The join of the kinds of these types. ``OperandError`` if there is none."""
    return reduce(join, (kind_of(t) for t in types))


def inexact(kind: PromotedType) -> PromotedType:
    """The kind in which a function of real numbers is computed: integers become ``f32``."""
    dtype, weak = kind
    if dtype is DType.KEY:
        raise OperandError("a random key is not a number")
    return kind if dtype.is_float else (DType.F32, weak)


def numeric(kind: PromotedType) -> PromotedType:
    """The kind in which sums are computed: ``bool`` becomes ``i32``."""
    if kind[0] is DType.KEY:
        raise OperandError("a random key is not a number")
    return (DType.I32, False) if kind[0] is DType.BOOL else kind


def common(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    """The arrays converted to the dtype that they promote to; a NumPy array is never weak."""
    kinds = [(dtype_of(a.dtype), False) for a in arrays]
    dtype = numpy_dtype(reduce(join, kinds)[0])
    return tuple(a.astype(dtype, copy=False) for a in arrays)


def widened(array: Array) -> Array:
    """The array as it is accumulated and compared: half precision in single precision."""
    dtype = dtype_of(array.dtype)
    return array.astype(numpy_dtype(dtype.wide)) if dtype.is_half else array


def real(array: Array) -> Array:
    """The array in floating point: ``inexact`` for arrays."""
    dtype, _ = inexact((dtype_of(array.dtype), False))
    return array.astype(numpy_dtype(dtype), copy=False)
