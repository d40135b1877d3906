"""Derivatives of factors of matrices.

Of Cholesky: I. Murray, "Differentiation of the Cholesky decomposition" (arXiv:1602.07527), equation
10. The others follow in the same way from ``l^-1 a' u^-1 = l^-1 l' + u' u^-1``, of which the first
term has what is below the diagonal, and the second one the rest.
"""

from __future__ import annotations

from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term, Terms
from tempoc.ops.linear.cholesky_rows import CholeskyRows
from tempoc.ops.linear.factor import Cholesky
from tempoc.ops.linear.ldl_rows import LdlRows
from tempoc.ops.linear.lu_rows import LuRows
from tempoc.ops.linear.solve import TriangularSolve
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.contraction import MatMul
from tempoc.ops.tensor.movement import Transpose
from tempoc.ops.tensor.source import Arange, IndexValue
from tempoc.symbolic import expr as ix

RULES = Rules()


@RULES.of(Cholesky)
def cholesky(op: Cholesky, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """The symmetric part, since the operator takes the symmetric part of its operand."""
    both = _by_symmetric(c, results[0], cots[0])
    return (c.fit(c.scale(both, 0.5), args[0]),)


@RULES.of(CholeskyRows)
def cholesky_rows(
    op: CholeskyRows, c: Calculus, args: Terms, results: Terms, cots: Terms
) -> Derivatives:
    """Of the lower triangle, whose elements stand for those above the diagonal too."""
    return (c.fit(_once(c, _by_symmetric(c, results[0], cots[0])), args[0]),)


def _by_symmetric(c: Calculus, factor: Term, cot: Term) -> Term:
    """``m + m^T`` of ``l^-T f(l^T l') l^-1``: ``f`` takes the lower triangle, half its diagonal."""
    upper = transposed(c, factor)
    inner = c.op(MatMul(), upper, triangle(c, cot, lower=True))
    lower = triangle(c, inner, lower=True)
    half = c.where(on_diagonal(c, inner), c.scale(lower, 0.5), lower)
    left = c.op(TriangularSolve(), upper, half)
    both = c.op(TriangularSolve(), upper, transposed(c, left))
    return c.add(both, transposed(c, both))


def _once(c: Calculus, both: Term) -> Term:
    """The lower triangle of ``m + m^T``, in which elements of the diagonal are counted once."""
    return triangle(c, c.where(on_diagonal(c, both), c.scale(both, 0.5), both), lower=True)


@RULES.of(LdlRows)
def ldl_rows(op: LdlRows, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """``l^-T p l^-1``, where ``p`` is ``(l^T l') d^-1`` below the diagonal, on it ``d'``."""
    factor, cot = results[0], cots[0]
    last = factor.type.ndim - 2
    pivots = c.sum(c.masked(on_diagonal(c, factor), _with_last_pivot(c, factor)), [last])
    below = c.div(_below(c, factor, cot), c.expand(pivots, [last]))
    inner = c.where(on_diagonal(c, cot), cot, triangle(c, below, lower=True, strict=True))
    opposite, upper = TriangularSolve(unit=True), transposed(c, factor)
    left = c.op(opposite, upper, inner)
    half = c.op(opposite, upper, transposed(c, left))
    return (c.fit(_once(c, c.add(half, transposed(c, half))), args[0]),)


@RULES.of(LuRows)
def lu_rows(op: LuRows, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """``l^-T p u^-T``, where ``p`` is ``l^T l'`` below the diagonal, the rest of it ``u' u^T``."""
    factor, cot = results[0], cots[0]
    upper = triangle(c, _with_last_pivot(c, factor), lower=False)
    rest = c.op(MatMul(), triangle(c, cot, lower=False), transposed(c, upper))
    below = triangle(c, _below(c, factor, cot), lower=True, strict=True)
    inner = c.add(below, triangle(c, rest, lower=False))
    left = c.op(TriangularSolve(unit=True), transposed(c, factor), inner)
    both = c.op(TriangularSolve(), upper, transposed(c, left))
    return (c.fit(transposed(c, both), args[0]),)


def _below(c: Calculus, factor: Term, cot: Term) -> Term:
    """``l^T l'``, where the ones of ``l`` are not stored."""
    own = triangle(c, cot, lower=True, strict=True)
    upper = transposed(c, triangle(c, factor, lower=True, strict=True))
    return c.add(own, c.op(MatMul(), upper, own))


def _with_last_pivot(c: Calculus, factor: Term) -> Term:
    """With 1 for the last pivot: nothing is divided by it, so that it may be zero."""
    n = factor.shape[-1]
    is_end = c.op(binary.Equal(), c.op(Arange(stop=n)), c.op(IndexValue(expr=ix.sub(n, ix.ONE))))
    is_last = c.op(binary.And(), c.expand(is_end, [1]), c.expand(is_end, [0]))
    return c.where(is_last, c.number(1.0, factor.type.dtype), factor)


# ---------------------------------------------------------------- parts of matrices


def transposed(c: Calculus, x: Term) -> Term:
    """Rows as columns."""
    last = x.type.ndim - 1
    return c.op(Transpose(axes=(*range(last - 1), last, last - 1)), x)


def triangle(c: Calculus, x: Term, *, lower: bool, strict: bool = False) -> Term:
    """One triangle, ``strict`` without its diagonal."""
    row, column = _places(c, x)
    if strict:
        inside = c.op(binary.Greater() if lower else binary.Less(), row, column)
    else:
        inside = c.op(binary.GreaterEqual() if lower else binary.LessEqual(), row, column)
    return c.masked(inside, x)


def on_diagonal(c: Calculus, x: Term) -> Term:
    """Where row and column are the same."""
    return c.op(binary.Equal(), *_places(c, x))


def _places(c: Calculus, x: Term) -> tuple[Term, Term]:
    """The numbers of rows and columns, ready to broadcast."""
    row, column = (c.op(Arange(stop=x.shape[k])) for k in (-2, -1))
    return c.expand(row, [1]), c.expand(column, [0])
