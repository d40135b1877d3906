"""Proximity constraints for isl's scheduler: the pairs of points of a flow to run close together.

They differ from the dependences. Of a slice only the last element counts, without its clamp. A read
of the past (`h[t-1]`, a stencil's neighbours one step ago) is replaced by the same point: any
forward order satisfies the dependence, and minimizing its distance would shift loops against each
other. A read of the future (`r[t:t+n]`) keeps its distance, so that isl delays the reader by just
that much.
"""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.walk import symbols


def last_element(entry: ix.Entry, universe: Universe) -> ix.Expr:
    """The last element of a slice, without its clamp: `t:min(t+n, T)` gives `t+n-1`."""
    if not isinstance(entry, ix.Slice):
        return entry
    high = entry.hi
    if isinstance(high, ix.IndexMin):
        moving = [a for a in high.args if any(universe.is_dim(n) for n in symbols(a))]
        high = moving[0] if len(moving) == 1 else high
    return high - entry.step


def neighbours(
    read: tuple[ix.Entry, ...], written: tuple[ix.Entry, ...], writer: Domain, universe: Universe
) -> tuple[tuple[ix.Expr, ...], ix.Expr] | None:
    """The writer's point that should be close to a reader's point, and the condition for it.

    `None` if the written coordinates are not of the form `t+c`.
    """
    target: dict[str, ix.Expr] = {}
    where: ix.Expr = ix.TRUE
    for entry, at in zip(read, written, strict=True):
        if isinstance(at, ix.Slice):
            continue  # all points are written at once, be they near or not
        last = last_element(entry, universe)
        shifted = _shifted(at, writer)
        if shifted is None and any(n in writer.dims for n in symbols(at)):
            return None
        if shifted is None:
            where = ix.conjunction(where, ix.compare("==", last, at))
        else:
            target[shifted[0]] = last - shifted[1]
    if len(target) < len(writer.dims):
        return None
    return _forward(target, writer.dims), where


def _shifted(e: ix.Expr, writer: Domain) -> tuple[str, int] | None:
    """`t+c` as `(t, c)`."""
    terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
    match terms:
        case ((1, ix.Sym(name=n)),) if n in writer.dims:
            return n, const
        case _:
            return None


def _forward(target: Mapping[str, ix.Expr], dims: tuple[str, ...]) -> tuple[ix.Expr, ...]:
    for dim in dims:
        gap = ix.sub(target[dim], ix.Sym(dim))
        if not isinstance(gap, ix.Const):
            break
        if gap.value < 0:
            return tuple(ix.Sym(d) if d in symbols(target[d]) else target[d] for d in dims)
        if gap.value > 0:
            break
    return tuple(target[d] for d in dims)
