"""Traversals of index expressions: symbols, substitution, evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

from tempoc.base.interned import MEMORY
from tempoc.symbolic.expr import (
    HOLDS,
    ZERO,
    Conjunction,
    Const,
    Disjunction,
    Entry,
    Expr,
    FloorDiv,
    IndexMax,
    IndexMin,
    IndexProduct,
    IndexSum,
    Mod,
    Negation,
    Relation,
    Slice,
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
    return isinstance(e, (Truth, Relation, Conjunction, Disjunction, Negation))


def children(e: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions."""
    match e:
        case IndexSum(terms=terms):
            return tuple(x for _, x in terms)
        case IndexProduct(factors=fs):
            return fs
        case FloorDiv(arg=a) | Mod(arg=a) | Negation(arg=a):
            return (a,)
        case (
            IndexMin(args=args)
            | IndexMax(args=args)
            | Conjunction(args=args)
            | Disjunction(args=args)
        ):
            return args
        case Relation(left=left, right=right):
            return (left, right)
        case _:
            return ()


@lru_cache(MEMORY)
def symbols(e: Entry) -> tuple[str, ...]:
    """The names that occur, each once, in order of first occurrence."""
    names: dict[str, None] = {}

    def walk(x: Expr) -> None:
        if isinstance(x, Sym):
            names[x.name] = None
        for child in children(x):
            walk(child)

    for part in (e.lo, e.hi) if isinstance(e, Slice) else (e,):
        walk(part)
    return tuple(names)


@lru_cache(MEMORY)
def written_integers(e: Expr) -> tuple[int, ...]:
    """The integer literals of an expression: constants, coefficients, divisors."""
    match e:
        case Const(value=v):
            own: tuple[int, ...] = (v,)
        case IndexSum(terms=terms, const=k):
            own = (k, *(c for c, _ in terms))
        case FloorDiv(divisor=k) | Mod(divisor=k):
            own = (k,)
        case _:
            own = ()
    return (*own, *(n for child in children(e) for n in written_integers(child)))


@lru_cache(MEMORY)
def is_affine(e: Entry) -> bool:
    """Whether the expression is quasi-affine: free of products of symbols."""
    if isinstance(e, Slice):
        return is_affine(e.lo) and is_affine(e.hi)
    return not isinstance(e, IndexProduct) and all(is_affine(c) for c in children(e))


def substitute(e: Expr, env: Mapping[str, Expr]) -> Expr:
    """``e`` with symbols replaced, renormalized.

    ``max(0, t)`` is ``t``, so the result is right at points where no replacement is negative.
    """
    match e:
        case Sym(name=n):
            return env.get(n, e)
        case IndexSum(terms=terms, const=k):
            return add(Const(k), *(mul(Const(c), substitute(x, env)) for c, x in terms))
        case IndexProduct(factors=fs):
            return product(substitute(f, env) for f in fs)
        case FloorDiv(arg=a, divisor=k):
            return floordiv(substitute(a, env), k)
        case Mod(arg=a, divisor=k):
            return mod(substitute(a, env), k)
        case IndexMin(args=args):
            return minimum(*(substitute(a, env) for a in args))
        case IndexMax(args=args):
            return maximum(*(substitute(a, env) for a in args))
        case Relation(op=op, left=left, right=right):
            return compare(op, substitute(left, env), substitute(right, env))
        case Conjunction(args=args):
            return conjunction(*(substitute(a, env) for a in args))
        case Disjunction(args=args):
            return disjunction(*(substitute(a, env) for a in args))
        case Negation(arg=a):
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
    return _function(e)(env)


CompiledExpr = Callable[[Mapping[str, int]], int]


@lru_cache(MEMORY)
def _function(e: Expr) -> CompiledExpr:
    """The expression compiled to a closure, because interpreting the tree per point is slower."""
    match e:
        case Const(value=v) | Truth(value=v):
            number = int(v)
            return lambda env: number
        case Sym(name=n):
            return lambda env: env[n]
        case IndexSum(terms=((1, x),), const=k):
            part = _function(x)
            return lambda env: part(env) + k
        case IndexSum(terms=terms, const=k):
            parts = tuple((c, _function(x)) for c, x in terms)
            return lambda env: sum([c * x(env) for c, x in parts], k)
        case IndexProduct(factors=fs):
            factors = tuple(map(_function, fs))
            return lambda env: math.prod([f(env) for f in factors])
        case FloorDiv(arg=a, divisor=k):
            divided = _function(a)
            return lambda env: divided(env) // k
        case Mod(arg=a, divisor=k):
            reduced = _function(a)
            return lambda env: reduced(env) % k
        case IndexMin(args=args):
            least = tuple(map(_function, args))
            return lambda env: min([f(env) for f in least])
        case IndexMax(args=args):
            most = tuple(map(_function, args))
            return lambda env: max([f(env) for f in most])
        case Relation(op=op, left=left, right=right):
            holds, difference = HOLDS[op], (_function(left), _function(right))
            return lambda env: int(holds(difference[0](env) - difference[1](env)))
        case Conjunction(args=args):
            every = tuple(map(_function, args))
            return lambda env: int(all(f(env) for f in every))
        case Disjunction(args=args):
            some = tuple(map(_function, args))
            return lambda env: int(any(f(env) for f in some))
        case Negation(arg=a):
            negated = _function(a)
            return lambda env: int(not negated(env))
        case _:
            raise TypeError(f"not an index expression: {e!r}")
