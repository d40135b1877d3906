"""Intervals of integers: what operators make of them.

Ends are expressions over bounds. Those of results that a dtype may not hold are not known, as
integers wrap around. Extents, and positions on axes, are taken to be far from the greatest `i32`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tempoc.base.arrays import np
from tempoc.base.effort import EFFORT
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor import arithmetic as binary, bits
from tempoc.symbolic import expr as ix

End = ix.Expr | None
"""An end of an interval, over bounds; ``None`` where there is none."""
NumberRange = tuple[End, End]
"""The least and the greatest number."""
ANY: NumberRange = (None, None)


def at(e: ix.Expr) -> NumberRange:
    """A single number."""
    return e, e


def numbers(low: int, high: int) -> NumberRange:
    """From one number to another."""
    return ix.Const(low), ix.Const(high)


def all_of(dtype: DType) -> NumberRange:
    """What a dtype holds, if it is an interval that is worth to be known."""
    if dtype is DType.BOOL:
        return numbers(0, 1)
    if not dtype.is_int or not (dtype.is_byte or dtype.is_unsigned):
        return ANY
    return numbers(dtype.integers[0], dtype.integers[-1])


def joined(ranges: Sequence[NumberRange]) -> NumberRange:
    """The least interval around all."""
    lows, highs = [r[0] for r in ranges], [r[1] for r in ranges]
    low = [e for e in lows if e is not None]
    high = [e for e in highs if e is not None]
    least = ix.minimum(*low) if low and len(low) == len(lows) else None
    return least, ix.maximum(*high) if high and len(high) == len(highs) else None


def common(a: NumberRange, b: NumberRange) -> NumberRange:
    """An interval that has what both have, where that is not nothing."""
    low = [e for e in (a[0], b[0]) if e is not None]
    high = [e for e in (a[1], b[1]) if e is not None]
    return ix.maximum(*low) if low else None, ix.minimum(*high) if high else None


def lesser(a: NumberRange, b: NumberRange) -> NumberRange:
    """The lesser of two numbers."""
    return joined([a, b])[0], common(a, b)[1]


def greater(a: NumberRange, b: NumberRange) -> NumberRange:
    """The greater of two numbers."""
    return common(a, b)[0], joined([a, b])[1]


def fitting(x: NumberRange, dtype: DType) -> NumberRange:
    """The interval, if a dtype has all numbers in it."""
    low, high = x
    inside = low is not None and high is not None
    if inside and isinstance(low, ix.Const) and isinstance(high, ix.Const):
        inside = dtype is DType.BOOL or (
            dtype.integers[0] <= low.value and high.value <= dtype.integers[-1]
        )
    elif inside:
        inside = dtype in (DType.I32, DType.I64)
    return x if inside else all_of(dtype)


def constants(*ranges: NumberRange) -> list[int] | None:
    """All ends, if they are numbers."""
    ends = [e for r in ranges for e in r]
    values = [e.value for e in ends if isinstance(e, ix.Const)]
    return values if len(values) == len(ends) else None


def arithmetic(op: Op, a: NumberRange, b: NumberRange, dtype: DType) -> NumberRange:
    """A sum, a difference, a product, a quotient rounded down, or what is left of one."""
    known = constants(a, b)
    match op:
        case binary.Remainder():
            return _remainder(a, b, dtype)
        case binary.Add() | binary.Subtract() if known is None:
            near = constants(b) or (constants(a) if isinstance(op, binary.Add) else None)
            if near is None or max(map(abs, near)) > EFFORT.added_integer or None in (*a, *b):
                return all_of(dtype)
            return fitting(_moved(op, a, b), dtype)
        case binary.FloorDivide() if known and known[2] <= 0 <= known[3]:
            return all_of(dtype)
    if known is None:
        return all_of(dtype)
    corners = [
        int(op.evaluate((np.array(x, np.int64), np.array(y, np.int64)), {})[0])
        for x, y in product(known[:2], known[2:])
    ]
    return fitting(numbers(min(corners), max(corners)), dtype)


def _moved(op: Op, a: NumberRange, b: NumberRange) -> NumberRange:
    (low, high), (least, most) = a, b
    assert low is not None and high is not None and least is not None and most is not None
    if isinstance(op, binary.Add):
        return ix.add(low, least), ix.add(high, most)
    return ix.sub(low, most), ix.sub(high, least)


def _remainder(a: NumberRange, b: NumberRange, dtype: DType) -> NumberRange:
    least, greatest = b
    if not isinstance(least, ix.Const) or least.value <= 0 or greatest is None:
        return all_of(dtype)
    rest = ix.sub(greatest, ix.ONE)
    few = isinstance(a[0], ix.Const) and a[0].value >= 0
    return ix.ZERO, ix.minimum(a[1], rest) if few and a[1] is not None else rest


def bitwise(op: Op, a: NumberRange, b: NumberRange, dtype: DType) -> NumberRange:
    """Operations on bits; of numbers that are not negative."""
    if isinstance(op, bits.BitwiseAnd):
        few = [r[1] for r in (a, b) if isinstance(r[0], ix.Const) and r[0].value >= 0]
        highs = [e for e in few if e is not None]
        return (ix.ZERO, ix.minimum(*highs)) if highs else all_of(dtype)
    known = constants(a, b)
    if known is None or min(known) < 0:
        return all_of(dtype)
    low, high, least, most = known
    places = len(dtype.integers).bit_length() - 1
    match op:
        case bits.BitwiseOr() | bits.BitwiseXor():
            return fitting(numbers(0, (1 << max(high, most).bit_length()) - 1), dtype)
        case bits.LeftShift() if most < places:
            return fitting(numbers(low << least, high << most), dtype)
        case bits.RightShift():
            return numbers(low >> min(most, places), high >> min(least, places))
    return all_of(dtype)


def compared(symbol: ix.CompareOp, y: NumberRange) -> NumberRange:
    """What ``x`` is if it stands so to ``y``."""
    low, high = y
    match symbol:
        case "<":
            return None, None if high is None else ix.sub(high, ix.ONE)
        case "<=":
            return None, high
        case ">":
            return None if low is None else ix.add(low, ix.ONE), None
        case ">=":
            return low, None
        case "==":
            return y
    return ANY
