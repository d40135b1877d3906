"""Parts of matrices, for derivative rules."""

from __future__ import annotations

from tempoc.ops.gradients.calculus import Calculus, Term
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.movement import Transpose
from tempoc.ops.tensor.source import Arange


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
