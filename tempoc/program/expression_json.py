"""The JSON form of index expressions: an integer, a name, or ``[op, argument, ...]``.

Grammar::

    op = + * min max and or        any number of arguments (min, max: at least one)
       | - < <= > >= == !=         two arguments
       | // %                      two arguments, the second one a positive integer; of //
                                   any expression, which counts as 1 where it is less
       | not                       one argument
       | at                        a bound, then the point whose length is meant

A name is a bound or a loop variable. ``and`` of nothing is true, ``or`` of nothing is false. An
integer has 64 bits. What is deeper or larger than any program has is no expression: it might take
forever to bring into canonical form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tempoc.symbolic import expr as ix
from tempoc.symbolic.expr import Expr

_MANY: Mapping[str, Callable[..., Expr]] = {
    "min": ix.minimum, "max": ix.maximum, "and": ix.conjunction, "or": ix.disjunction,
}  # fmt: skip
INTEGERS = 2**63
"""Integers are below this, and at least its negative."""
_DEEPEST, _LARGEST, _TERMS = 320, 4000, 1000
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def to_json(e: Expr) -> object:
    """The JSON form. ``TypeError`` for what is no expression."""
    match e:
        case ix.Const(value=v):
            return v
        case ix.Sym(name=n):
            return n
        case ix.LengthAt(bound=bound, point=point):
            return ["at", bound, *map(to_json, point)]
        case ix.IndexSum(terms=terms, const=k):
            parts = [to_json(x) if c == 1 else _scaled(c, x) for c, x in terms]
            return ["+", *parts, *([k] if k else [])]
        case ix.IndexProduct(factors=fs):
            return ["*", *map(to_json, fs)]
        case ix.FloorDiv(arg=a, divisor=k) | ix.Quotient(arg=a, divisor=k):
            return ["//", to_json(a), to_json(ix.lift(k))]
        case ix.Mod(arg=a, divisor=k):
            return ["%", to_json(a), k]
        case ix.IndexMin(args=args):
            return ["min", *map(to_json, args)]
        case ix.IndexMax(args=args):
            return ["max", *map(to_json, args)]
        case ix.Truth(value=v):
            return ["and" if v else "or"]
        case ix.Relation(op=op, left=left, right=right):
            return [op, to_json(left), to_json(right)]
        case ix.Conjunction(args=args):
            return ["and", *map(to_json, args)]
        case ix.Disjunction(args=args):
            return ["or", *map(to_json, args)]
        case ix.Negation(arg=a):
            return ["not", to_json(a)]
        case _:
            raise TypeError(f"not an index expression: {e!r}")


def _scaled(factor: int, e: Expr) -> list[object]:
    return ["*", factor, *map(to_json, e.factors if isinstance(e, ix.IndexProduct) else (e,))]


def from_json(data: object) -> Expr:
    """The expression of a JSON form. ``ValueError`` if it is none."""
    if isinstance(data, list) and _size(data, _DEEPEST) > _LARGEST:
        raise ValueError("it is too large")
    return _expression(data)


def _size(data: list[object], depth: int) -> int:
    """The number of parts. ``ValueError`` if they are nested deeper than that."""
    if not depth:
        raise ValueError("it is nested too deeply")
    return 1 + sum([_size(part, depth - 1) if isinstance(part, list) else 1 for part in data])


def _expression(data: object) -> Expr:
    match data:
        case bool():
            pass
        case int() if -INTEGERS <= data < INTEGERS:
            return ix.Const(data)
        case str() if data.isidentifier():
            return ix.Sym(data)
        case ["+", *args]:
            return ix.linear(map(_term, args), 0)
        case ["-", left, right]:
            return ix.linear(((1, _expression(left)), (-1, _expression(right))), 0)
        case ["*", *args]:
            return _product(args)
        case [str() as op, *args] if op in _MANY and (args or op not in ("min", "max")):
            return _MANY[op](*map(_expression, args))
        case ["//" | "%" as op, arg, int() as k] if type(k) is int and 0 < k < INTEGERS:
            return (ix.floordiv if op == "//" else ix.mod)(_expression(arg), k)
        case ["//", arg, (str() | list()) as by]:
            return ix.quotient(_expression(arg), _expression(by))
        case [str() as op, left, right] if op in _COMPARISONS:
            return ix.compare(op, _expression(left), _expression(right))
        case ["not", arg]:
            return ix.negation(_expression(arg))
        case ["at", str() as bound, *point] if point and bound.isidentifier():
            return ix.LengthAt(bound, tuple(map(_expression, point)))
    raise ValueError(f"not an expression: {data!r}")


def _product(args: list[object]) -> Expr:
    """The product, which is expanded: of sums it has as many terms as theirs together."""
    factors = [*map(_expression, args)]
    if math.prod([len(f.terms) + 1 for f in factors if isinstance(f, ix.IndexSum)]) > _TERMS:
        raise ValueError("it has too many terms")
    return ix.product(factors)


def _term(data: object) -> tuple[int, Expr]:
    """The coefficient and the rest of a term."""
    match data:
        case ["*", int() as k, *factors] if type(k) is int and -INTEGERS <= k < INTEGERS:
            return k, _product(factors)
        case _:
            return 1, _expression(data)
