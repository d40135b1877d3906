"""The rows that kernels read of inputs of which a chunk at a time is on the device."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from tempoc.memory.plan_types import MemoryPlan
from tempoc.poly.relations.space import Space
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import is_affine

InputRows = Mapping[str, ix.Expr | None]
"""For inputs a row of the chunk that has all rows that a kernel reads, over the dimensions of the
kernel; ``None`` if no chunk is known to have them all."""


def input_rows(s: Statement, plan: MemoryPlan, space: Space) -> InputRows:
    """The rows of the inputs that a statement reads in chunks."""
    rows: dict[str, ix.Expr | None] = {}
    for read in s.reads:
        store = plan.stores[read.tensor]
        if read.tensor not in plan.chunked:
            continue
        (axis,), (entry,) = store.axes, read.entries
        assert isinstance(axis.size, ix.Const)
        row = _row(entry, axis.size.value, s.domain, space)
        rows[read.tensor] = row if rows.setdefault(read.tensor, row) == row else None
    return rows


def _row(entry: ix.Entry, size: int, domain: Domain, space: Space) -> ix.Expr | None:
    """A row of the chunk of ``size`` rows in which an entry lies as a whole.

    A slice does if it begins at a multiple of a divisor of ``size`` and is no longer than that.
    """
    if isinstance(entry, ix.Expr):
        return entry
    if entry.step < 1:
        return None
    for begin in entry.lo.args if isinstance(entry.lo, ix.IndexMin) else (entry.lo,):
        part = gcd(size, _divisor(begin))
        inside = (
            ix.compare(">=", entry.lo, begin),
            ix.compare("<=", entry.hi, ix.add(begin, ix.Const(part))),
        )
        if part > 1 and space.implies(domain, ix.conjunction(*inside)):
            return begin
    return None


def _divisor(e: ix.Expr) -> int:
    """A number that divides an affine expression; 1 if it is not, or constant."""
    if isinstance(e, ix.Const) or not is_affine(e):
        return 1
    terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
    return gcd(const, *(factor for factor, _ in terms))
