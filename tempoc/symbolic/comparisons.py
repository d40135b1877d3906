"""Comparisons solved for a dimension, as a person writes them: `t >= 1`, `t < T`, `t % 2 == 1`."""

from __future__ import annotations

from tempoc.symbolic.expr import (
    ZERO,
    Conjunction,
    Const,
    Disjunction,
    Expr,
    IndexSum,
    Mod,
    Relation,
    Sym,
    add,
    compare,
    conjunction,
    disjunction,
    mod,
    mul,
    negation,
    sub,
)
from tempoc.symbolic.walk import symbols


def solve_comparisons(c: Expr, dims: tuple[str, ...]) -> Expr:
    """A condition with each comparison solved for one of `dims` (or another symbol of it)."""
    match c:
        case Conjunction(args=args):
            return conjunction(*(solve_comparisons(a, dims) for a in args))
        case Disjunction(args=args):
            return disjunction(*(solve_comparisons(a, dims) for a in args))
        case Relation(op="!=", left=left, right=right):
            return negation(solved_comparison(sub(left, right), True, dims))
        case Relation(op=op, left=left, right=right):
            gap = sub(left, right) if op in (">", ">=", "==") else sub(right, left)
            return solved_comparison(gap - 1 if op in ("<", ">") else gap, op == "==", dims)
        case _:
            return c


def solved_comparison(e: Expr, equal: bool, dims: tuple[str, ...]) -> Expr:
    """`e == 0` (`equal`) or `e >= 0`, with dimensions on the left-hand side."""
    terms, const = (e.terms, e.const) if isinstance(e, IndexSum) else (((1, e),), 0)
    if isinstance(e, Const):
        return compare("==" if equal else ">=", e, ZERO)
    if equal:
        return _equation(e, terms, dims)
    plus = add(*(mul(Const(c), x) for c, x in terms if c > 0))
    minus = add(*(mul(Const(-c), x) for c, x in terms if c < 0))
    if _varies(plus, dims) or not _varies(minus, dims):
        if plus == ZERO:
            return compare("<=", minus, Const(const))
        if const == -1 and minus != ZERO:
            return compare(">", plus, minus)
        return compare(">=", plus, sub(minus, Const(const)))
    if plus == ZERO and const == 0:
        return compare("==" if isinstance(minus, (Sym, Mod)) else "<=", minus, ZERO)
    return compare("<", minus, add(plus, Const(const + 1)))


def _equation(e: Expr, terms: tuple[tuple[int, Expr], ...], dims: tuple[str, ...]) -> Expr:
    unit = [(c, x) for c, x in terms if abs(c) == 1]
    named: list[tuple[int, Expr]]
    named = [(c, x) for c, x in unit if isinstance(x, Sym) and x.name in dims]
    named = [*named, *((c, x) for c, x in unit if isinstance(x, Mod))]
    if not named:
        plus = add(*(mul(Const(c), x) for c, x in terms if c > 0))
        return compare("==", plus, sub(plus, e))
    c, x = named[0]
    solution = mul(Const(-c), sub(e, mul(Const(c), x)))
    if isinstance(x, Mod) and isinstance(x.arg, IndexSum) and isinstance(solution, Const):
        # (t+1) % 2 == 0 as t % 2 == 1
        k = x.divisor
        return compare("==", mod(sub(x.arg, Const(x.arg.const)), k), mod(solution - x.arg.const, k))
    return compare("==", x, solution)


def _varies(e: Expr, dims: tuple[str, ...]) -> bool:
    return any(n in dims for n in symbols(e))
