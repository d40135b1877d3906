"""The JSON form of index expressions: an integer, a name, or ``[op, argument, ...]``.

Grammar::

    op = + * min max and or        any number of arguments (min, max: at least one)
       | - < <= > >= == !=         two arguments
       | // %                      two arguments, the second one a positive integer
       | not                       one argument
       | at                        a bound, then the point whose length is meant

A name is a bound or a loop variable. ``and`` of nothing is true, ``or`` of nothing is false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tempoc.symbolic import expr as ix
from tempoc.symbolic.expr import Expr

_MANY: Mapping[str, Callable[..., Expr]] = {
    "*": lambda *args: ix.product(args), "min": ix.minimum, "max": ix.maximum,
    "and": ix.conjunction, "or": ix.disjunction,
}  # fmt: skip
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
        case ix.FloorDiv(arg=a, divisor=k):
            return ["//", to_json(a), k]
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
    match data:
        case bool():
            pass
        case int():
            return ix.Const(data)
        case str() if data.isidentifier():
            return ix.Sym(data)
        case ["+", *args]:
            return ix.linear(map(_term, args), 0)
        case ["-", left, right]:
            return ix.linear(((1, from_json(left)), (-1, from_json(right))), 0)
        case [str() as op, *args] if op in _MANY and (args or op not in ("min", "max")):
            return _MANY[op](*map(from_json, args))
        case ["//" | "%" as op, arg, int() as k] if type(k) is int:
            return (ix.floordiv if op == "//" else ix.mod)(from_json(arg), k)
        case [str() as op, left, right] if op in _COMPARISONS:
            return ix.compare(op, from_json(left), from_json(right))  # type: ignore[arg-type]
        case ["not", arg]:
            return ix.negation(from_json(arg))
        case ["at", str() as bound, *point] if point and bound.isidentifier():
            return ix.LengthAt(bound, tuple(map(from_json, point)))
    raise ValueError(f"not an expression: {data!r}")


def _term(data: object) -> tuple[int, Expr]:
    """The coefficient and the rest of a term."""
    match data:
        case ["*", int() as k, *factors] if type(k) is int:
            return k, ix.product(map(from_json, factors))
        case _:
            return 1, from_json(data)
