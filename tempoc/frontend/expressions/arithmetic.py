"""Unary and binary operators: constant folding, index expressions, tensors."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.lower_bounds import with_vector
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.values import (
    Builtin,
    Closure,
    ConstantNumber,
    ConstantText,
    Index,
    Listing,
    Package,
    Ref,
    Several,
    Value,
    dims_of,
    lift,
    unknown_in,
)
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.syntax.errors import number_too_large
from tempoc.ops.catalog import SYMBOLS
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor import elementwise as unary
from tempoc.ops.tensor.source import IndexValue
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import is_affine, is_condition, written_integers

COMPARISONS: dict[str, ix.CompareOp] = {
    "<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "==", "!=": "!=",
}  # fmt: skip
_FOLD: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def binary_operation(round: Round, frame: Frame, op: str, a: Value, b: Value, span: Span) -> Value:
    """`a op b` for all operators with two operands. Raises `Failure`."""
    unknown = unknown_in(a, b) if isinstance(a, Several) or isinstance(b, Several) else None
    if unknown is not None:
        return unknown
    for value in (a, b):
        if isinstance(value, Several):
            raise Failure(type_errors.several_results(span, value))
    if isinstance(a, ConstantText) and isinstance(b, ConstantText) and op in ("==", "!=", "+"):
        if op == "+":
            return ConstantText(a.value + b.value)
        return ConstantNumber((a.value == b.value) == (op == "=="))

    def leaf(parts: tuple[Value, ...]) -> Value:
        product = with_vector(round, frame, parts, span) if op == "@" else None
        if product is None:
            product = _scalar(round, frame, op, parts[0], parts[1], span)
        return product

    return apply.map_together(round, leaf, (a, b), span)


def _scalar(round: Round, frame: Frame, op: str, a: Value, b: Value, span: Span) -> Value:
    if isinstance(a, (ConstantText, Builtin, Closure, Package)) or isinstance(
        b, (ConstantText, Builtin, Closure, Package)
    ):
        raise Failure(type_errors.bad_operator(span, op, a, b))
    if isinstance(a, ConstantNumber) and isinstance(b, ConstantNumber) and op != "@":
        return fold(op, a, b, span)
    if op in ("//", "%") and as_expr(b) == ix.ZERO and as_expr(a) is not None:
        raise Failure(type_errors.division_by_zero(span))
    folded = _symbolic(op, a, b, round.universe)
    for value in (a, b):
        if folded is not None and isinstance(value, ConstantNumber):
            apply.check_number(value.value, DType.I32, span)
    for number in written_integers(folded.expr) if isinstance(folded, Index) else ():
        apply.check_number(number, DType.I64, span)
    if folded is None:
        return apply.elementwise(round, frame, SYMBOLS[op](), (a, b), span)
    return as_named(round, frame, folded, (a, b), span)


def as_named(
    round: Round,
    frame: Frame,
    folded: ConstantNumber | Index,
    operands: tuple[Value, ...],
    span: Span,
) -> Value:
    """The result of an operator on index expressions, with all dimensions that these name.

    `0 * t` is a number as an index, but a tensor that varies with `t` as a value.
    """
    named = dims_of(Listing(operands), round.universe)
    if named == dims_of(folded, round.universe):
        return folded
    expr = as_expr(folded)
    assert expr is not None
    node = apply.make(round, frame, IndexValue(expr=expr), (), span)[0]
    return replace(apply.spread(round, frame, node, named), static=folded)


def fold(op: str, a: ConstantNumber, b: ConstantNumber, span: Span) -> ConstantNumber:
    """An operator on two numbers, as in Python. Raises `Failure`."""
    x, y = a.value, b.value
    if op in ("and", "or"):
        if not (isinstance(x, bool) and isinstance(y, bool)):
            raise Failure(type_errors.bad_operator(span, op, a, b))
        return ConstantNumber((x and y) if op == "and" else (x or y))
    if isinstance(x, bool) and isinstance(y, bool) and op not in COMPARISONS:
        raise Failure(type_errors.bad_operator(span, op, a, b))
    try:
        result = power(x, y) if op == "**" else _FOLD[op](x, y)
    except ZeroDivisionError:
        raise Failure(type_errors.division_by_zero(span)) from None
    except OverflowError:
        result = math.inf if x > 0 or y % 2 == 0 else -math.inf
    if isinstance(result, int) and abs(result) > sys.float_info.max:
        raise Failure(number_too_large(span))
    return ConstantNumber(result)


def power(x: float, y: float) -> float:
    """`x ** y`; NaN where NumPy gives NaN."""
    if isinstance(x, int) and isinstance(y, int) and y >= 0:
        # Larger ones are too large, whatever they are.
        return int(x ** min(y, 2048 + y % 2)) if abs(x) > 1 else int(x**y)
    result = float(x) ** float(y) if x >= 0 or float(y).is_integer() else math.nan
    return float(result)


def as_expr(value: Value) -> ix.Expr | None:
    """A value as an index expression or condition; None if it is none."""
    match value:
        case ConstantNumber(value=bool(v)):
            return ix.Truth(v)
        case ConstantNumber(value=int(v)):
            return ix.Const(v)
        case Index(expr=e):
            return e
        case Ref(static=static) if static is not None:
            return as_expr(static)
        case _:
            return None


def _symbolic(op: str, a: Value, b: Value, universe: Universe) -> ConstantNumber | Index | None:
    """The operator on index expressions alone; `None` if the result is not one."""
    x, y = as_expr(a), as_expr(b)
    if x is None or y is None:
        return None
    if op in ("and", "or"):
        if is_condition(x) and is_condition(y):
            return lift((ix.conjunction if op == "and" else ix.disjunction)(x, y))
        return None
    if is_condition(x) or is_condition(y):
        return None
    if op in COMPARISONS:
        return lift(ix.compare(COMPARISONS[op], x, y))
    if op in ("+", "-"):
        return lift(ix.add(x, y) if op == "+" else ix.sub(x, y))
    if op == "*":
        product = ix.mul(x, y)
        return lift(product if is_affine(product) else ix.mul(*map(universe.settled, (x, y))))
    divisor = universe.settled(y)
    if op in ("//", "%") and isinstance(divisor, ix.Const) and divisor.value > 0:
        return lift((ix.floordiv if op == "//" else ix.mod)(x, divisor.value))
    return None


def unary_operation(round: Round, frame: Frame, op: str, a: Value, span: Span) -> Value:
    """`-a` and `not a`. Raises `Failure`."""

    def leaf(parts: tuple[Value, ...]) -> Value:
        (x,) = parts
        e = as_expr(x)
        if isinstance(x, ConstantNumber) and (op == "-") != isinstance(x.value, bool):
            return ConstantNumber(-x.value if op == "-" else not x.value)
        if isinstance(x, (Ref, Index)) and e is not None and is_condition(e) == (op == "not"):
            folded = lift(ix.negation(e) if op == "not" else ix.mul(ix.Const(-1), e))
            return as_named(round, frame, folded, (x,), span)
        if not isinstance(x, (Ref, Index)):
            raise Failure(type_errors.bad_operator(span, op, x))
        node: Op = unary.Negative() if op == "-" else unary.Not()
        return apply.elementwise(round, frame, node, (x,), span)

    if isinstance(a, Several):
        raise Failure(type_errors.several_results(span, a))
    return apply.map_together(round, leaf, (a,), span)
