"""Traversals of index expressions: symbols, substitution, evaluation."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from tempoc.symbolic.expr import (
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
    LengthAt,
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
    linear,
    maximum,
    minimum,
    mod,
    negation,
    product,
    sub,
)  # fmt: skip
from tempoc.symbolic.interned import MEMORY


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
        case LengthAt(point=point):
            return point
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
        elif isinstance(x, LengthAt):
            names[x.bound] = None
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
    """``e`` with symbols replaced, renormalized; a bound also stands for its lengths at points.

    ``max(0, t)`` is ``t``, so the result is right at points where no replacement is negative.
    """
    match e:
        case Sym(name=n) | LengthAt(bound=n) if n in env:
            return env[n]
        case _:
            return rebuilt(e, lambda x: substitute(x, env))


def rebuilt(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """``e`` with changed direct subexpressions, renormalized."""
    match e:
        case IndexSum(terms=terms, const=k):
            return linear([(c, change(x)) for c, x in terms], k)
        case IndexProduct(factors=fs):
            return product(map(change, fs))
        case FloorDiv(arg=a, divisor=k):
            return floordiv(change(a), k)
        case Mod(arg=a, divisor=k):
            return mod(change(a), k)
        case IndexMin(args=args):
            return minimum(*map(change, args))
        case IndexMax(args=args):
            return maximum(*map(change, args))
        case LengthAt(bound=bound, point=point):
            return LengthAt(bound, tuple(map(change, point)))
        case _:
            return _rebuilt_condition(e, change)


def _rebuilt_condition(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    match e:
        case Relation(op=op, left=left, right=right):
            return compare(op, change(left), change(right))
        case Conjunction(args=args):
            return conjunction(*map(change, args))
        case Disjunction(args=args):
            return disjunction(*map(change, args))
        case Negation(arg=a):
            return negation(change(a))
        case _:
            return e


def replace_parts(e: Expr, substitution: Mapping[Expr, Expr]) -> Expr:
    """An expression with some of its parts substituted."""
    if e in substitution:
        return substitution[e]
    return rebuilt(e, lambda part: replace_parts(part, substitution))


def substitute_entry(e: Entry, env: Mapping[str, Expr]) -> Entry:
    """``substitute`` for an access entry."""
    if isinstance(e, Slice):
        return Slice(substitute(e.lo, env), substitute(e.hi, env), e.step)
    return substitute(e, env)


def evaluate(e: Expr, env: Mapping[str, Any]) -> int:
    """The value at a point; conditions give 0 or 1. ``KeyError`` for a symbol without a value.

    ``env`` may have tables of lengths (`table`); without one, a length is that of its bound.
    """
    return int(compiled(e)(env))


def table(bound: str) -> str:
    """The name in an environment of the table of lengths of a bound, by point.

    A point of one coordinate is a bare number.
    """
    return f"{bound}[]"


CompiledExpr = Callable[[Mapping[str, Any]], int]
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip


@lru_cache(MEMORY)
def compiled(e: Expr) -> CompiledExpr:
    """The expression compiled to a closure, because interpreting the tree per point is slower."""
    match e:
        case Const(value=v) | Truth(value=v):
            number = int(v)
            return lambda env: number
        case Sym(name=n):
            return operator.itemgetter(n)
        case LengthAt(bound=bound, point=point):
            return _length(bound, tuple(map(compiled, point)))
        case IndexSum(terms=((1, Sym(name=n)),), const=k):
            return lambda env: env[n] + k
        case IndexSum(terms=((c, Sym(name=n)),), const=k):
            return lambda env: c * env[n] + k
        case IndexSum(terms=((c, x),), const=k):
            part = compiled(x)
            return lambda env: c * part(env) + k
        case IndexSum(terms=((c, x), (d, y)), const=k):
            first, second = compiled(x), compiled(y)
            return lambda env: c * first(env) + d * second(env) + k
        case IndexSum(terms=terms, const=k):
            parts = tuple((c, compiled(x)) for c, x in terms)
            return lambda env: sum([c * x(env) for c, x in parts], k)
        case IndexProduct(factors=fs):
            factors = tuple(map(compiled, fs))
            return lambda env: math.prod([f(env) for f in factors])
        case FloorDiv(arg=a, divisor=k):
            divided = compiled(a)
            return lambda env: divided(env) // k
        case Mod(arg=a, divisor=k):
            reduced = compiled(a)
            return lambda env: reduced(env) % k
        case IndexMin(args=args) | IndexMax(args=args):
            return _compiled_extremum(min if isinstance(e, IndexMin) else max, args)
        case _:
            return _compiled_condition(e)


def _compiled_extremum(pick: Callable[..., int], args: tuple[Expr, ...]) -> CompiledExpr:
    first, second, *others = map(compiled, args)
    if not others:
        return lambda env: pick(first(env), second(env))
    return lambda env: pick(first(env), second(env), *[f(env) for f in others])


def _compiled_condition(e: Expr) -> CompiledExpr:
    match e:
        case Relation(op=op, left=left, right=Const(value=k)):
            holds, value = _COMPARE[op], compiled(left)
            return lambda env: holds(value(env), k)
        case Relation(op=op, left=left, right=right):
            holds, value, other = _COMPARE[op], compiled(left), compiled(right)
            return lambda env: holds(value(env), other(env))
        case Conjunction(args=(a, b)):
            first, second = compiled(a), compiled(b)
            return lambda env: first(env) and second(env)
        case Conjunction(args=args):
            every = tuple(map(compiled, args))
            return lambda env: all(f(env) for f in every)
        case Disjunction(args=(a, b)):
            first, second = compiled(a), compiled(b)
            return lambda env: first(env) or second(env)
        case Disjunction(args=args):
            some = tuple(map(compiled, args))
            return lambda env: any(f(env) for f in some)
        case Negation(arg=a):
            negated = compiled(a)
            return lambda env: not negated(env)
        case _:
            raise TypeError(f"not an index expression: {e!r}")


def _length(bound: str, point: tuple[CompiledExpr, ...]) -> CompiledExpr:
    name = table(bound)

    def length(env: Mapping[str, Any]) -> int:
        lengths = env.get(name)
        if lengths is None:
            return int(env[bound])
        at = tuple([f(env) for f in point])
        return int(lengths[at[0] if len(at) == 1 else at])

    return length
