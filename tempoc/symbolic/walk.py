"""Traversals of index expressions: symbols, substitution, evaluation."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from tempoc.symbolic import expr as ix
from tempoc.symbolic.interned import MEMORY


def ceildiv(a: ix.Expr, k: int) -> ix.Expr:
    """``ceil(a / k)``."""
    return ix.floordiv(ix.add(a, ix.Const(k - 1)), k)


@lru_cache(MEMORY)
def extent(s: ix.Slice) -> ix.Expr:
    """The number of points of a slice, ``max(0, ceil((hi - lo) / step))``."""
    return ix.maximum(ix.ZERO, ceildiv(ix.sub(s.hi, s.lo), s.step))


def is_condition(e: ix.Expr) -> bool:
    """Whether the expression is boolean valued."""
    return isinstance(e, (ix.Truth, ix.Relation, ix.Conjunction, ix.Disjunction, ix.Negation))


def children(e: ix.Expr) -> tuple[ix.Expr, ...]:
    """The direct subexpressions."""
    match e:
        case ix.IndexSum(terms=terms):
            return tuple(x for _, x in terms)
        case ix.IndexProduct(factors=fs):
            return fs
        case ix.LengthAt(point=point):
            return point
        case ix.FloorDiv(arg=a) | ix.Mod(arg=a) | ix.Negation(arg=a):
            return (a,)
        case ix.Quotient(arg=a, divisor=by):
            return (a, by)
        case (
            ix.IndexMin(args=args)
            | ix.IndexMax(args=args)
            | ix.Conjunction(args=args)
            | ix.Disjunction(args=args)
        ):
            return args
        case ix.Relation(left=left, right=right):
            return (left, right)
        case _:
            return ()


@lru_cache(MEMORY)
def symbols(e: ix.Entry) -> tuple[str, ...]:
    """The names that occur, each once, in order of first occurrence."""
    own = (e.name,) if isinstance(e, ix.Sym) else (e.bound,) if isinstance(e, ix.LengthAt) else ()
    parts = (e.lo, e.hi) if isinstance(e, ix.Slice) else children(e)
    return tuple(dict.fromkeys((*own, *(name for part in parts for name in symbols(part)))))


@lru_cache(MEMORY)
def divisions(e: ix.Expr) -> frozenset[ix.Expr]:
    """The quotients and remainders in an expression."""
    inner = frozenset[ix.Expr]().union(*map(divisions, children(e)))
    return inner | {e} if isinstance(e, (ix.FloorDiv, ix.Mod)) else inner


@lru_cache(MEMORY)
def written_integers(e: ix.Expr) -> tuple[int, ...]:
    """The integer literals of an expression: constants, coefficients, divisors."""
    match e:
        case ix.Const(value=v):
            own: tuple[int, ...] = (v,)
        case ix.IndexSum(terms=terms, const=k):
            own = (k, *(c for c, _ in terms))
        case ix.FloorDiv(divisor=k) | ix.Mod(divisor=k):
            own = (k,)
        case _:
            own = ()
    return (*own, *(n for child in children(e) for n in written_integers(child)))


@lru_cache(MEMORY)
def is_affine(e: ix.Entry) -> bool:
    """Whether the expression is quasi-affine: free of products and quotients of symbols."""
    if isinstance(e, ix.Slice):
        return is_affine(e.lo) and is_affine(e.hi)
    return not isinstance(e, ix.IndexProduct | ix.Quotient) and all(map(is_affine, children(e)))


def substitute(e: ix.Expr, env: Mapping[str, ix.Expr]) -> ix.Expr:
    """``e`` with symbols replaced, renormalized; a bound also stands for its lengths at points.

    ``max(0, t)`` is ``t``, so the result is right at points where no replacement is negative.
    """
    replaced = [(name, env[name]) for name in symbols(e) if name in env]
    return _substituted(e, tuple(replaced)) if replaced else e


@lru_cache(MEMORY)
def _substituted(e: ix.Expr, replaced: tuple[tuple[str, ix.Expr], ...]) -> ix.Expr:
    """``substitute``, given the symbols that occur: the same is asked again and again."""
    env = dict(replaced)
    match e:
        case ix.Sym(name=n) | ix.LengthAt(bound=n) if n in env:
            return env[n]
        case _:
            return rebuilt(e, lambda x: substitute(x, env))


def rebuilt(e: ix.Expr, change: Callable[[ix.Expr], ix.Expr]) -> ix.Expr:
    """``e`` with changed direct subexpressions, renormalized."""
    match e:
        case ix.IndexSum(terms=terms, const=k):
            return ix.linear([(c, change(x)) for c, x in terms], k)
        case ix.IndexProduct(factors=fs):
            return ix.product(map(change, fs))
        case ix.FloorDiv(arg=a, divisor=k):
            return ix.floordiv(change(a), k)
        case ix.Mod(arg=a, divisor=k):
            return ix.mod(change(a), k)
        case ix.Quotient(arg=a, divisor=by):
            return ix.quotient(change(a), change(by))
        case ix.IndexMin(args=args):
            return ix.minimum(*map(change, args))
        case ix.IndexMax(args=args):
            return ix.maximum(*map(change, args))
        case ix.LengthAt(bound=bound, point=point):
            return ix.LengthAt(bound, tuple(map(change, point)))
        case _:
            return _rebuilt_condition(e, change)


def _rebuilt_condition(e: ix.Expr, change: Callable[[ix.Expr], ix.Expr]) -> ix.Expr:
    match e:
        case ix.Relation(op=op, left=left, right=right):
            return ix.compare(op, change(left), change(right))
        case ix.Conjunction(args=args):
            return ix.conjunction(*map(change, args))
        case ix.Disjunction(args=args):
            return ix.disjunction(*map(change, args))
        case ix.Negation(arg=a):
            return ix.negation(change(a))
        case _:
            return e


def replace_parts(e: ix.Expr, substitution: Mapping[ix.Expr, ix.Expr]) -> ix.Expr:
    """An expression with some of its parts substituted."""
    if e in substitution:
        return substitution[e]
    return rebuilt(e, lambda part: replace_parts(part, substitution))


def evaluate(e: ix.Expr, env: Mapping[str, Any]) -> int:
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
def compiled(e: ix.Expr) -> CompiledExpr:
    """The expression compiled to a closure, because interpreting the tree per point is slower."""
    match e:
        case ix.Const(value=v) | ix.Truth(value=v):
            number = int(v)
            return lambda env: number
        case ix.Sym(name=n):
            return operator.itemgetter(n)
        case ix.LengthAt(bound=bound, point=point):
            return _length(bound, tuple(map(compiled, point)))
        case ix.IndexSum(terms=((1, ix.Sym(name=n)),), const=k):
            return lambda env: env[n] + k
        case ix.IndexSum(terms=((c, ix.Sym(name=n)),), const=k):
            return lambda env: c * env[n] + k
        case ix.IndexSum(terms=((c, x),), const=k):
            part = compiled(x)
            return lambda env: c * part(env) + k
        case ix.IndexSum(terms=((c, x), (d, y)), const=k):
            first, second = compiled(x), compiled(y)
            return lambda env: c * first(env) + d * second(env) + k
        case ix.IndexSum(terms=terms, const=k):
            parts = tuple((c, compiled(x)) for c, x in terms)
            return lambda env: sum([c * x(env) for c, x in parts], k)
        case ix.IndexProduct(factors=fs):
            factors = tuple(map(compiled, fs))
            return lambda env: math.prod([f(env) for f in factors])
        case ix.FloorDiv(arg=a, divisor=k):
            divided = compiled(a)
            return lambda env: divided(env) // k
        case ix.Mod(arg=a, divisor=k):
            reduced = compiled(a)
            return lambda env: reduced(env) % k
        case ix.Quotient(arg=a, divisor=by):
            dividend, divisor = compiled(a), compiled(by)
            return lambda env: dividend(env) // max(1, divisor(env))
        case ix.IndexMin(args=args) | ix.IndexMax(args=args):
            return _compiled_extremum(min if isinstance(e, ix.IndexMin) else max, args)
        case _:
            return _compiled_condition(e)


def _compiled_extremum(pick: Callable[..., int], args: tuple[ix.Expr, ...]) -> CompiledExpr:
    first, second, *others = map(compiled, args)
    if not others:
        return lambda env: pick(first(env), second(env))
    return lambda env: pick(first(env), second(env), *[f(env) for f in others])


def _compiled_condition(e: ix.Expr) -> CompiledExpr:
    match e:
        case ix.Relation(op=op, left=left, right=ix.Const(value=k)):
            holds, value = _COMPARE[op], compiled(left)
            return lambda env: holds(value(env), k)
        case ix.Relation(op=op, left=left, right=right):
            holds, value, other = _COMPARE[op], compiled(left), compiled(right)
            return lambda env: holds(value(env), other(env))
        case ix.Conjunction(args=(a, b)):
            first, second = compiled(a), compiled(b)
            return lambda env: first(env) and second(env)
        case ix.Conjunction(args=args):
            every = tuple(map(compiled, args))
            return lambda env: all(f(env) for f in every)
        case ix.Disjunction(args=(a, b)):
            first, second = compiled(a), compiled(b)
            return lambda env: first(env) or second(env)
        case ix.Disjunction(args=args):
            some = tuple(map(compiled, args))
            return lambda env: any(f(env) for f in some)
        case ix.Negation(arg=a):
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
