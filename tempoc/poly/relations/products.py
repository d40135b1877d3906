"""Polynomials: sums of products of affine factors, which isl cannot represent as a whole."""

from __future__ import annotations

from collections.abc import Callable

from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import is_affine, substitute

LimitOf = Callable[[ix.Expr, bool], ix.Expr]


def rebuilt(e: ix.Expr, change: Callable[[ix.Expr], ix.Expr]) -> ix.Expr:
    """The polynomial with every factor mapped by ``change``."""
    match e:
        case ix.IndexSum(terms=terms, const=const):
            return ix.add(
                *(ix.mul(ix.Const(c), rebuilt(x, change)) for c, x in terms), ix.Const(const)
            )
        case ix.IndexProduct(factors=factors):
            return ix.product(change(f) for f in factors)
        case _:
            return change(e)


def without_values(e: ix.Expr, universe: Universe) -> ix.Expr:
    """The expression with the values of bounds substituted, over dimensions and other bounds."""
    values = {b.name: b.value for b in universe.bounds if b.value is not None}
    for _ in values:
        e = substitute(e, values)
    return e


def limit(
    e: ix.Expr, of: LimitOf, is_positive: Callable[[ix.Expr], bool], *, greatest: bool
) -> ix.Expr:
    """A bound of a polynomial, from the bounds ``of(part, greatest)`` of its affine parts.

    Raises ``ValueError`` where a factor may be negative (``is_positive`` allows 0).
    """
    terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
    parts = [
        ix.mul(ix.Const(c), _product(x, of, is_positive, greatest=greatest == (c > 0)))
        for c, x in terms
    ]
    return ix.add(*parts, ix.Const(const))


def _product(
    e: ix.Expr, of: LimitOf, is_positive: Callable[[ix.Expr], bool], *, greatest: bool
) -> ix.Expr:
    def inner(part: ix.Expr) -> ix.Expr:
        return limit(part, of, is_positive, greatest=greatest)

    if is_affine(e):
        return of(e, greatest)
    match e:
        case ix.IndexProduct(factors=factors) if all(is_positive(f) for f in factors):
            return ix.product(of(f, greatest) for f in factors)
        case ix.IndexMax(args=args):
            return ix.maximum(*map(inner, args))
        case ix.IndexMin(args=args):
            return ix.minimum(*map(inner, args))
        case ix.FloorDiv(arg=arg, divisor=k):
            return ix.floordiv(inner(arg), k)
        case ix.Mod(divisor=k):
            return ix.Const(k - 1 if greatest else 0)
        case ix.Quotient(arg=arg) if is_positive(arg):
            return inner(arg) if greatest else ix.ZERO
        case _:
            raise ValueError("numbers that may be negative have products without a limit")
