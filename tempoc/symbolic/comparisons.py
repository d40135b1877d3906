"""Comparisons solved for a dimension, as a person writes them: `t >= 1`, `t < T`, `t % 2 == 1`."""

from __future__ import annotations

from functools import lru_cache

from tempoc.symbolic import expr as ix
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.walk import symbols


@lru_cache(MEMORY)
def solve_comparisons(c: ix.Expr, dims: tuple[str, ...]) -> ix.Expr:
    """A condition with each comparison solved for one of `dims` (or another symbol of it)."""
    match c:
        case ix.Conjunction(args=args):
            return ix.conjunction(*(solve_comparisons(a, dims) for a in args))
        case ix.Disjunction(args=args):
            return ix.disjunction(*(solve_comparisons(a, dims) for a in args))
        case ix.Relation(op="!=", left=left, right=right):
            return ix.negation(solved_comparison(ix.sub(left, right), True, dims))
        case ix.Relation(op=op, left=left, right=right):
            gap = ix.sub(left, right) if op in (">", ">=", "==") else ix.sub(right, left)
            return solved_comparison(gap - 1 if op in ("<", ">") else gap, op == "==", dims)
        case _:
            return c


def solved_comparison(e: ix.Expr, equal: bool, dims: tuple[str, ...]) -> ix.Expr:
    """`e == 0` (`equal`) or `e >= 0`, with dimensions on the left-hand side."""
    terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
    if isinstance(e, ix.Const):
        return ix.compare("==" if equal else ">=", e, ix.ZERO)
    if equal:
        return _equation(e, terms, dims)
    plus = ix.add(*(ix.mul(ix.Const(c), x) for c, x in terms if c > 0))
    minus = ix.add(*(ix.mul(ix.Const(-c), x) for c, x in terms if c < 0))
    if _varies(plus, dims) or not _varies(minus, dims):
        if plus == ix.ZERO:
            return ix.compare("<=", minus, ix.Const(const))
        if const == -1 and minus != ix.ZERO:
            return ix.compare(">", plus, minus)
        return ix.compare(">=", plus, ix.sub(minus, ix.Const(const)))
    if plus == ix.ZERO and const == 0:
        return ix.compare("==" if isinstance(minus, (ix.Sym, ix.Mod)) else "<=", minus, ix.ZERO)
    return ix.compare("<", minus, ix.add(plus, ix.Const(const + 1)))


def _equation(e: ix.Expr, terms: tuple[tuple[int, ix.Expr], ...], dims: tuple[str, ...]) -> ix.Expr:
    unit = [(c, x) for c, x in terms if abs(c) == 1]
    named: list[tuple[int, ix.Expr]]
    named = [(c, x) for c, x in unit if isinstance(x, ix.Sym) and x.name in dims]
    named = [*named, *((c, x) for c, x in unit if isinstance(x, ix.Mod))]
    if not named:
        plus = ix.add(*(ix.mul(ix.Const(c), x) for c, x in terms if c > 0))
        return ix.compare("==", plus, ix.sub(plus, e))
    c, x = named[0]
    solution = ix.mul(ix.Const(-c), ix.sub(e, ix.mul(ix.Const(c), x)))
    if isinstance(x, ix.Mod) and isinstance(x.arg, ix.IndexSum) and isinstance(solution, ix.Const):
        # (t+1) % 2 == 0 as t % 2 == 1
        k = x.divisor
        return ix.compare(
            "==", ix.mod(ix.sub(x.arg, ix.Const(x.arg.const)), k), ix.mod(solution - x.arg.const, k)
        )
    return ix.compare("==", x, solution)


def _varies(e: ix.Expr, dims: tuple[str, ...]) -> bool:
    return any(n in dims for n in symbols(e))
