"""Questions about and rewrites of index expressions: symbols, substitution, evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce

from tempoc.base.interned import MEMORY
from tempoc.symbolic.expr import (
    HOLDS,
    ZERO,
    And,
    Compare,
    Const,
    Entry,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Not,
    Or,
    Prod,
    Slice,
    Sum,
    Sym,
    Truth,
    add,
    compare,
    conjunction,
    disjunction,
    floordiv,
    maximum,
    minimum,
    mod,
    mul,
    negation,
    product,
    sub,
)  # fmt: skip


def ceildiv(a: Expr, k: int) -> Expr:
    """``ceil(a / k)``."""
    return floordiv(add(a, Const(k - 1)), k)


@lru_cache(MEMORY)
def extent(s: Slice) -> Expr:
    """The number of points of a slice, ``max(0, ceil((hi - lo) / step))``."""
    return maximum(ZERO, ceildiv(sub(s.hi, s.lo), s.step))


def is_condition(e: Expr) -> bool:
    """Whether the expression is boolean valued."""
    return isinstance(e, (Truth, Compare, And, Or, Not))


def children(e: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions."""
    match e:
        case Sum(terms=terms):
            return tuple(x for _, x in terms)
        case Prod(factors=fs):
            return fs
        case FloorDiv(arg=a) | Mod(arg=a) | Not(arg=a):
            return (a,)
        case Min(args=args) | Max(args=args) | And(args=args) | Or(args=args):
            return args
        case Compare(left=left, right=right):
            return (left, right)
        case _:
            return ()


@lru_cache(MEMORY)
def symbols(e: Entry) -> tuple[str, ...]:
    """The names that occur, each once, in order of first occurrence."""
    found: dict[str, None] = {}

    def walk(x: Expr) -> None:
        if isinstance(x, Sym):
            found[x.name] = None
        for child in children(x):
            walk(child)

    for part in (e.lo, e.hi) if isinstance(e, Slice) else (e,):
        walk(part)
    return tuple(found)


@lru_cache(MEMORY)
def integers(e: Expr) -> tuple[int, ...]:
    """The integers that are written in an expression."""
    match e:
        case Const(value=v):
            own: tuple[int, ...] = (v,)
        case Sum(terms=terms, const=k):
            own = (k, *(c for c, _ in terms))
        case FloorDiv(divisor=k) | Mod(divisor=k):
            own = (k,)
        case _:
            own = ()
    return (*own, *(n for child in children(e) for n in integers(child)))


@lru_cache(MEMORY)
def is_affine(e: Entry) -> bool:
    """Whether the expression is quasi-affine: free of products of symbols."""
    if isinstance(e, Slice):
        return is_affine(e.lo) and is_affine(e.hi)
    return not isinstance(e, Prod) and all(is_affine(c) for c in children(e))


def substitute(e: Expr, env: Mapping[str, Expr]) -> Expr:
    """``e`` with symbols replaced, renormalized.

    ``max(0, t)`` is ``t``, so the result is right at points where no replacement is negative.
    """
    match e:
        case Sym(name=n):
            return env.get(n, e)
        case Sum(terms=terms, const=k):
            return add(Const(k), *(mul(Const(c), substitute(x, env)) for c, x in terms))
        case Prod(factors=fs):
            return product(substitute(f, env) for f in fs)
        case FloorDiv(arg=a, divisor=k):
            return floordiv(substitute(a, env), k)
        case Mod(arg=a, divisor=k):
            return mod(substitute(a, env), k)
        case Min(args=args):
            return minimum(*(substitute(a, env) for a in args))
        case Max(args=args):
            return maximum(*(substitute(a, env) for a in args))
        case Compare(op=op, left=left, right=right):
            return compare(op, substitute(left, env), substitute(right, env))
        case And(args=args):
            return conjunction(*(substitute(a, env) for a in args))
        case Or(args=args):
            return disjunction(*(substitute(a, env) for a in args))
        case Not(arg=a):
            return negation(substitute(a, env))
        case _:
            return e


def substitute_entry(e: Entry, env: Mapping[str, Expr]) -> Entry:
    """``substitute`` for an access entry."""
    if isinstance(e, Slice):
        return Slice(substitute(e.lo, env), substitute(e.hi, env), e.step)
    return substitute(e, env)


def evaluate(e: Expr, env: Mapping[str, int]) -> int:
    """The value at a point; conditions give 0 or 1. ``KeyError`` for a symbol without a value."""
    match e:
        case Const(value=v):
            return v
        case Sym(name=n):
            return env[n]
        case Sum(terms=terms, const=k):
            return k + sum(c * evaluate(x, env) for c, x in terms)
        case Prod(factors=fs):
            return reduce(lambda a, f: a * evaluate(f, env), fs, 1)
        case FloorDiv(arg=a, divisor=k):
            return evaluate(a, env) // k
        case Mod(arg=a, divisor=k):
            return evaluate(a, env) % k
        case Min(args=args):
            return min(evaluate(a, env) for a in args)
        case Max(args=args):
            return max(evaluate(a, env) for a in args)
        case Truth(value=b):
            return int(b)
        case Compare(op=op, left=left, right=right):
            return int(HOLDS[op](evaluate(left, env) - evaluate(right, env)))
        case And(args=args):
            return int(all(evaluate(a, env) for a in args))
        case Or(args=args):
            return int(any(evaluate(a, env) for a in args))
        case Not(arg=a):
            return int(not evaluate(a, env))
        case _:
            raise TypeError(f"not an index expression: {e!r}")
