"""Converts index expressions to run-time arithmetic and back: `symbolic.expr`, `program.nodes`."""

from __future__ import annotations

from tempoc.footprint.formulas import apply_operator
from tempoc.program.nodes.arithmetic import FALSE, TRUE, Arith, Operation
from tempoc.symbolic import expr as ix
from tempoc.symbolic.expr import Expr


def to_arith(e: Expr) -> Arith:
    """The same expression for the runner; names stay as they are.

    ``TypeError`` for a kind of expression that is never stored in a program.
    """
    match e:
        case ix.Const(value=v):
            return v
        case ix.Sym(name=n):
            return n
        case ix.IndexSum(terms=terms, const=k):
            return _sum(terms, k)
        case ix.IndexProduct(factors=fs):
            return Operation("*", tuple(to_arith(f) for f in fs))
        case ix.FloorDiv(arg=a, divisor=k):
            return Operation("//", (to_arith(a), k))
        case ix.Mod(arg=a, divisor=k):
            return Operation("%", (to_arith(a), k))
        case ix.IndexMin(args=args):
            return Operation("min", tuple(to_arith(a) for a in args))
        case ix.IndexMax(args=args):
            return Operation("max", tuple(to_arith(a) for a in args))
        case _:
            return _condition(e)


def _condition(e: Expr) -> Arith:
    match e:
        case ix.Truth(value=v):
            return TRUE if v else FALSE
        case ix.Relation(op=op, left=left, right=right):
            return Operation(op, (to_arith(left), to_arith(right)))
        case ix.Conjunction(args=args):
            return Operation("and", tuple(to_arith(a) for a in args))
        case ix.Disjunction(args=args):
            return Operation("or", tuple(to_arith(a) for a in args))
        case ix.Negation(arg=a):
            return Operation("not", (to_arith(a),))
        case _:
            raise TypeError(f"not an index expression: {e!r}")


def _sum(terms: tuple[tuple[int, Expr], ...], const: int) -> Arith:
    """Positive terms first: ``T - t``, not ``-t + T``."""
    ordered = sorted(terms, key=lambda term: term[0] < 0)
    parts = [to_arith(x) if c == 1 else _scaled(c, x) for c, x in ordered]
    if const > 0 or (const and ordered[0][0] > 0):
        parts.append(const)
    elif const:
        parts.insert(0, const)
    return Operation("+", tuple(parts))


def _scaled(factor: int, e: Expr) -> Arith:
    inner = to_arith(e)
    if isinstance(inner, Operation) and inner.op == "*":
        return Operation("*", (factor, *inner.args))
    return Operation("*", (factor, inner))


def to_expr(e: Arith) -> Expr:
    """The expression of run-time arithmetic; a length is that of its bound, at all points."""
    match e:
        case int():
            return Const(e)
        case str():
            return Sym(e)
        case Operation(op="at", args=(bound, *_)):
            return to_expr(bound)
        case Operation(op=op, args=args):
            return apply_operator(op, [to_expr(a) for a in args])
