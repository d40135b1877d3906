"""The values of derived bounds, where `//` and `%` may have bounds as divisors.

isl cannot divide by a parameter, so such a value is no index expression. The runner computes it
when it loads the program; proofs know of the bound that it is at least 1 (`poly/relations/space.py`
says what else).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tempoc.frontend.declarations.module_scopes import Scopes
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.environment.values import BAD, Builtin, Value, lift
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.syntax import ast
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import is_affine, is_condition


def extent_value(scopes: Scopes, scope: Scope, e: ast.Expression) -> Value:
    """The value of an extent of a dimension; errors are reported."""
    match e:
        case ast.Binary(op=op) if op in _ARITHMETIC:
            x, y = (_number(scopes, scope, side) for side in (e.left, e.right))
            value = None if x is None or y is None else _combined(scopes, e, x, y)
        case ast.CallExpr(kwargs=()):
            value = _extremum(scopes, scope, e)
        case _:
            value = None
    return scopes.evaluate(scope, e) if value is None else value


def _number(scopes: Scopes, scope: Scope, e: ast.Expression) -> ix.Expr | None:
    x = as_expr(extent_value(scopes, scope, e))
    return None if x is None or is_condition(x) else x


def _combined(scopes: Scopes, e: ast.Binary, x: ix.Expr, y: ix.Expr) -> Value | None:
    """An operation on two numbers; `None` if it is one of index expressions, or an error."""
    if e.op in ("//", "%"):
        y = scopes.universe.settled(y)
        if not isinstance(y, ix.Const) and not _is_positive(y):
            scopes.errors.add(name_errors.bound_divisor(e.right.span, e.right.span.text))
            return BAD
        is_plain = isinstance(y, ix.Const) and (is_affine(x) or y.value < 1)
    else:
        is_plain = is_affine(x) and is_affine(y)
    return None if is_plain else lift(_ARITHMETIC[e.op](x, y))


def _extremum(scopes: Scopes, scope: Scope, e: ast.CallExpr) -> Value | None:
    """`min` or `max` of several numbers; `None` if all of them are index expressions."""
    least_or_greatest = _EXTREMA.get(scopes.evaluate(scope, e.function))
    if least_or_greatest is None or len(e.args) < 2:
        return None
    args = [x for arg in e.args if (x := _number(scopes, scope, arg)) is not None]
    if len(args) < len(e.args) or all(map(is_affine, args)):
        return None
    return lift(least_or_greatest(*args))


def _remainder(a: ix.Expr, by: ix.Expr) -> ix.Expr:
    return ix.sub(a, ix.mul(by, ix.quotient(a, by)))


_ARITHMETIC: Mapping[str, Callable[[ix.Expr, ix.Expr], ix.Expr]] = {
    "+": ix.add, "-": ix.sub, "*": ix.mul, "//": ix.quotient, "%": _remainder
}  # fmt: skip
_EXTREMA: Mapping[Value, Callable[..., ix.Expr]] = {
    Builtin("min"): ix.minimum, Builtin("max"): ix.maximum
}  # fmt: skip


def _is_positive(e: ix.Expr) -> bool:
    """Whether an expression is made of bounds and positive numbers by `+` and `*`."""
    match e:
        case ix.Sym():
            return True
        case ix.Const(value=value):
            return value > 0
        case ix.IndexSum(terms=terms, const=const):
            return const >= 0 and all(c > 0 and _is_positive(x) for c, x in terms)
        case ix.IndexProduct(factors=factors):
            return all(map(_is_positive, factors))
        case _:
            return False
