"""Polynomials: sums of products of affine factors, which isl cannot represent as a whole."""

from __future__ import annotations

from collections.abc import Callable

from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import (
    Const,
    Expr,
    FloorDiv,
    IndexMax,
    IndexMin,
    IndexProduct,
    IndexSum,
    Mod,
    add,
    floordiv,
    maximum,
    minimum,
    mul,
    product,
)
from tempoc.symbolic.walk import is_affine, substitute

Limit = Callable[[Expr, bool], Expr]


def rebuilt(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The polynomial with every factor mapped by ``change``."""
    match e:
        case IndexSum(terms=terms, const=const):
            return add(*(mul(Const(c), rebuilt(x, change)) for c, x in terms), Const(const))
        case IndexProduct(factors=factors):
            return product(change(f) for f in factors)
        case _:
            return change(e)


def without_values(e: Expr, universe: Universe) -> Expr:
    """The expression with the values of bounds substituted, over dimensions and other bounds."""
    values = {b.name: b.value for b in universe.bounds if b.value is not None}
    for _ in values:
        e = substitute(e, values)
    return e


def limit(e: Expr, of: Limit, is_positive: Callable[[Expr], bool], *, greatest: bool) -> Expr:
    """A bound of a polynomial, from the bounds ``of(part, greatest)`` of its affine parts.

    Raises ``ValueError`` where a factor may be negative (``is_positive`` allows 0).
    """
    terms, const = (e.terms, e.const) if isinstance(e, IndexSum) else (((1, e),), 0)
    parts = [
        mul(Const(c), _product(x, of, is_positive, greatest=greatest == (c > 0))) for c, x in terms
    ]
    return add(*parts, Const(const))


def _product(e: Expr, of: Limit, is_positive: Callable[[Expr], bool], *, greatest: bool) -> Expr:
    def inner(part: Expr) -> Expr:
        return limit(part, of, is_positive, greatest=greatest)

    if is_affine(e):
        return of(e, greatest)
    match e:
        case IndexProduct(factors=factors) if all(is_positive(f) for f in factors):
            return product(of(f, greatest) for f in factors)
        case IndexMax(args=args):
            return maximum(*map(inner, args))
        case IndexMin(args=args):
            return minimum(*map(inner, args))
        case FloorDiv(arg=arg, divisor=k):
            return floordiv(inner(arg), k)
        case Mod(divisor=k):
            return Const(k - 1 if greatest else 0)
        case _:
            raise ValueError("numbers that may be negative have products without a limit")
