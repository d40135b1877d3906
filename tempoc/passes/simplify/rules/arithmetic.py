"""Exact rules for arithmetic and logic: results are equal to the last bit for every value.

So there is no ``x * 0 = 0`` for floats (NaN, infinities, -0.0), no ``x + 0.0 = x`` (-0.0 + 0.0 is
0.0; ``x - 0.0`` and ``x + -0.0`` are fine), no ``x - x = 0`` and no ``x / x = 1``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tempoc.ops.control.control import Select
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor import arithmetic as two
from tempoc.ops.tensor import elementwise as one
from tempoc.passes.simplify.rules.pattern import Match, Rewrite, RewriteRule


def _is_number(value: Scalar | None, number: float) -> bool:
    """Whether a constant is this number, -0.0 not being 0."""
    return value is not None and value == number and (math.copysign(1, value) > 0) == (number >= 0)


def _add_zero(v: Match) -> Rewrite | None:
    for slot in (0, 1):
        number = v.number(1 - slot)
        exact = number == 0 and (not v.result.dtype.is_float or not _is_number(number, 0))
        if exact and v.operand(slot).dtype is v.result.dtype and (rewrite := v.same(slot)):
            return rewrite
    return None


def _neutral_operand(number: float) -> Callable[[Match], Rewrite | None]:
    """Replace the node by an operand if the other one is a neutral number."""

    def find(v: Match) -> Rewrite | None:
        slots = (k for k in (0, 1) if _is_number(v.number(1 - k), number))
        return next((f for k in slots if (f := v.same(k)) is not None), None)

    return find


def _neutral_on_the_right(number: int) -> Callable[[Match], Rewrite | None]:
    return lambda v: v.same(0) if _is_number(v.number(1), number) else None


def _mul_zero(v: Match) -> Rewrite | None:
    if v.result.dtype.is_float or not (_is_number(v.number(0), 0) or _is_number(v.number(1), 0)):
        return None
    return v.constant(0)


def _times_minus_one(v: Match) -> Rewrite | None:
    for slot in (0,) if isinstance(v.op, two.Divide) else (0, 1):
        if v.number(1 - slot) != -1:
            continue
        operand = v.operand(slot)
        if (operand.dtype, operand.shape) == (v.result.dtype, v.result.shape):
            return Rewrite(edges=(v.node.inputs[slot],), op=one.Negative())
    return None


def _reciprocal(v: Match) -> Rewrite | None:
    by = v.number(1)
    if by is None or not v.result.dtype.is_float or not math.isfinite(by) or by == 0:
        return None
    fraction, exponent = math.frexp(by)
    if any(d is not v.result.dtype for d in v.dtypes):
        return None
    if abs(fraction) != 0.5 or not -60 < exponent < 60 or v.result.weak:
        return None
    if v.result.dtype is DType.F16 and not -10 < exponent < 10:
        return None
    return Rewrite(edges=(v.node.inputs[0], v.literal(1 / by)), op=two.Multiply())


def _negated_operands(v: Match) -> Rewrite | None:
    """Negated operands: signs that cancel, or turn a sum into a difference and back."""
    if any(d is not v.result.dtype for d in v.dtypes):
        return None
    a, b = v.inner(0, one.Negative), v.inner(1, one.Negative)
    x, y = v.node.inputs
    match v.op:
        case two.Add() if b is not None:
            return Rewrite(edges=(x, b.edges[0]), op=two.Subtract())
        case two.Add() if a is not None:
            return Rewrite(edges=(y, a.edges[0]), op=two.Subtract())
        case two.Subtract() if b is not None:
            return Rewrite(edges=(x, b.edges[0]), op=two.Add())
        case two.Multiply() | two.Divide() if a is not None and b is not None:
            return Rewrite(edges=(a.edges[0], b.edges[0]), op=v.op)
    return None


def _negated_factor(v: Match) -> Rewrite | None:
    """A sum or difference with a product that has a negated factor."""
    if any(d is not v.result.dtype for d in v.dtypes):
        return None
    opposite = two.Subtract() if isinstance(v.op, two.Add) else two.Add()
    for slot in (1,) if isinstance(v.op, two.Subtract) else (1, 0):
        term = v.inner(slot, two.Multiply, two.Divide, alone=True)
        for k in (0, 1) if term is not None and term.aligned else ():
            assert term is not None
            factor = v.behind(term.edges[k], one.Negative)
            if factor is None or not v.result.dtype.is_float:
                continue
            edges = tuple(factor.edges[0] if n == k else e for n, e in enumerate(term.edges))
            product = v.make(term.op, *edges)
            return Rewrite(edges=(v.node.inputs[1 - slot], product), op=opposite)
    return None


def _involution(v: Match) -> Rewrite | None:
    inner = v.inner(0, type(v.op), sliced=True)
    return None if inner is None else v.same_as(inner.edges[0])


_IDEMPOTENT: tuple[type[Op], ...] = (
    one.Abs,
    one.Relu,
    one.Floor,
    one.Ceil,
    one.RoundToEven,
    one.Sign,
)
_INTEGRAL: tuple[type[Op], ...] = (one.Floor, one.Ceil, one.RoundToEven)


def _idempotent(v: Match) -> Rewrite | None:
    kinds = _INTEGRAL if isinstance(v.op, _INTEGRAL) else (type(v.op),)
    return v.same(0) if v.inner(0, *kinds) is not None else None


def _abs_negated(v: Match) -> Rewrite | None:
    inner = v.inner(0, one.Negative)
    signed = v.result.dtype is not DType.U32
    return Rewrite(edges=inner.edges, op=v.op) if inner is not None and signed else None


def _equal_operands(v: Match) -> Rewrite | None:
    a, b = v.node.inputs
    return v.same(0) if a == b else None


def _neutral_or_absorbing(v: Match) -> Rewrite | None:
    """``and``, ``or``, ``min`` and ``max`` with a neutral or absorbing constant."""
    neutral: Scalar
    match v.op:
        case two.And() | two.Or():
            neutral = isinstance(v.op, two.And)
        case _ if v.result.dtype.is_float:
            neutral = math.inf if isinstance(v.op, two.Minimum) else -math.inf
        case _:
            return None
    for slot in (0, 1):
        number = v.number(1 - slot)
        if number is None:
            continue
        if number == neutral:
            return v.same(slot)
        if isinstance(v.op, two.Logical):
            return v.constant(not neutral)
    return None


def _clip(v: Match) -> Rewrite | None:
    x, low, high = v.node.inputs
    if v.number(1) == -math.inf:
        return Rewrite(edges=(x, high), op=two.Minimum())
    if v.number(2) == math.inf:
        return Rewrite(edges=(x, low), op=two.Maximum())
    return None


_NEGATED_EQUALITY: Mapping[type[Op], type[two.Comparison]] = {
    two.Equal: two.NotEqual,
    two.NotEqual: two.Equal,
}
_NEGATED_ORDER: Mapping[type[Op], type[two.Comparison]] = {
    two.Less: two.GreaterEqual,
    two.LessEqual: two.Greater,
    two.Greater: two.LessEqual,
    two.GreaterEqual: two.Less,
}


def _negated_comparison(v: Match) -> Rewrite | None:
    """The opposite comparison; less and greater both fail for NaN."""
    inner = v.inner(0, two.Comparison)
    if inner is None:
        return None
    kind = _NEGATED_EQUALITY.get(type(inner.op))
    if kind is None and not any(v.type_of(e).dtype.is_float for e in inner.edges):
        kind = _NEGATED_ORDER[type(inner.op)]
    return None if kind is None else Rewrite(edges=inner.edges, op=kind())


def _equal_integers(v: Match) -> Rewrite | None:
    """A difference or comparison of an integer with itself."""
    a, b = v.node.inputs
    if a != b or v.operand(0).dtype.is_float or v.operand(0).dtype is DType.KEY:
        return None
    match v.op:
        case two.Subtract():
            return v.constant(0)
        case _:
            return v.constant(isinstance(v.op, two.Equal | two.LessEqual | two.GreaterEqual))


def _integer_by_one(v: Match) -> Rewrite | None:
    if v.result.dtype.is_float or not _is_number(v.number(1), 1):
        return None
    return v.constant(0) if isinstance(v.op, two.Remainder) else v.same(0)


def _equal_branches(v: Match) -> Rewrite | None:
    return v.same(1) if v.node.inputs[1] == v.node.inputs[2] else None


def _constant_condition(v: Match) -> Rewrite | None:
    condition = v.number(0)
    return None if condition is None else v.same(1 if condition else 2)


def _negated_condition(v: Match) -> Rewrite | None:
    inner = v.inner(0, one.Not)
    return (
        None if inner is None else Rewrite(edges=(inner.edges[0], *v.node.inputs[:0:-1]), op=v.op)
    )


def _nested_select(v: Match) -> Rewrite | None:
    """A select whose branch is a select by the same condition."""
    condition, *values = v.node.inputs
    for k, value in enumerate(values):
        inner = v.inner(k + 1, Select)
        if inner is None or inner.edges[0] != condition or v.operand(k + 1).shape != v.result.shape:
            continue
        branch = inner.edges[k + 1]
        edges = (condition, branch, values[1]) if k == 0 else (condition, values[0], branch)
        if branch != value:
            return Rewrite(edges=edges, op=v.op)
    return None


LOSSLESS: Mapping[DType, tuple[DType, ...]] = {
    DType.BOOL: (DType.I32, DType.I64, DType.U32, DType.BF16, DType.F16, DType.F32, DType.F64),
    DType.I32: (DType.I64, DType.F64),
    DType.U32: (DType.I64, DType.F64),
    DType.BF16: (DType.F32, DType.F64),
    DType.F16: (DType.F32, DType.F64),
    DType.F32: (DType.F64,),
}
"""Injective conversions by source dtype: a conversion after them may skip them."""


def _cast_cast(v: Match) -> Rewrite | None:
    inner = v.inner(0, one.Cast, sliced=True)
    if inner is None:
        return None
    have, middle = v.type_of(inner.edges[0]), inner.node.types[0].dtype
    if middle is not have.dtype and middle not in LOSSLESS.get(have.dtype, ()):
        return None
    return v.same_as(inner.edges[0]) or Rewrite(edges=inner.edges, op=v.op)


NUMBERS: tuple[RewriteRule, ...] = (
    RewriteRule(name="x + 0 = x", ops=(two.Add,), find=_add_zero),
    RewriteRule(name="x - 0 = x", ops=(two.Subtract,), find=_neutral_on_the_right(0)),
    RewriteRule(name="x * 1 = x", ops=(two.Multiply,), find=_neutral_operand(1)),
    RewriteRule(name="x / 1 = x", ops=(two.Divide,), find=_neutral_on_the_right(1)),
    RewriteRule(name="x ** 1 = x", ops=(two.Power,), find=_neutral_on_the_right(1)),
    RewriteRule(name="whole x * 0 = 0", ops=(two.Multiply,), find=_mul_zero),
    RewriteRule(
        name="whole x // 1 and x % 1", ops=(two.FloorDivide, two.Remainder), find=_integer_by_one
    ),
    RewriteRule(
        name="whole x - x, x == x",
        ops=(two.Subtract, two.Comparison),
        find=_equal_integers,
    ),
    RewriteRule(name="x * -1 = -x", ops=(two.Multiply, two.Divide), find=_times_minus_one),
    RewriteRule(name="x / 2**k = x * 2**-k", ops=(two.Divide,), find=_reciprocal),
    RewriteRule(
        name="a + -b = a - b",
        ops=(two.Add, two.Subtract, two.Multiply, two.Divide),
        find=_negated_operands,
    ),
    RewriteRule(name="a + -b * c = a - b * c", ops=(two.Add, two.Subtract), find=_negated_factor),
    RewriteRule(name="-(-x) = x", ops=(one.Negative,), find=_involution),
    RewriteRule(name="not not x = x", ops=(one.Not,), find=_involution),
    RewriteRule(name="f(f(x)) = f(x)", ops=_IDEMPOTENT, find=_idempotent),
    RewriteRule(name="abs(-x) = abs(x)", ops=(one.Abs,), find=_abs_negated),
    RewriteRule(
        name="f(x, x) = x", ops=(two.Minimum, two.Maximum, two.And, two.Or), find=_equal_operands
    ),
    RewriteRule(
        name="f(x, neutral) = x",
        ops=(two.Minimum, two.Maximum, two.And, two.Or),
        find=_neutral_or_absorbing,
    ),
    RewriteRule(name="clip on one side", ops=(two.Clip,), find=_clip),
    RewriteRule(name="not (a == b) = a != b", ops=(one.Not,), find=_negated_comparison),
    RewriteRule(name="where(c, x, x) = x", ops=(Select,), find=_equal_branches),
    RewriteRule(name="where(true, x, y) = x", ops=(Select,), find=_constant_condition),
    RewriteRule(name="where(not c, x, y) = where(c, y, x)", ops=(Select,), find=_negated_condition),
    RewriteRule(
        name="where(c, where(c, x, y), z) = where(c, x, z)", ops=(Select,), find=_nested_select
    ),
    RewriteRule(name="a cast to its own dtype", ops=(one.Cast,), find=lambda v: v.same(0)),
    RewriteRule(name="a cast of a lossless cast", ops=(one.Cast,), find=_cast_cast),
)
