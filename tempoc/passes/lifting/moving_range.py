"""Slices whose ends move with the point, classified as ranges of a scan or of windows.

====================  ==========================  =================================================
``x[c:t+1]``          :class:`Prefix`             all elements from a fixed first one on
``x[t:c]``            :class:`Suffix`             all elements up to a fixed last one
``x[t-2:t+1]``        :class:`Sliding`            as many at each point; ``max`` and ``min`` may
``x[max(t-2,0):t+1]``                             clamp it to the dimension
====================  ==========================  =================================================

Each has the ``slice`` that all points read together, and the ``position`` of a point's value in the
scan of that slice, or among the windows over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import ceildiv, extent, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The first elements of ``slice``; the scan is preceded by ``pad`` neutral elements."""

    slice: ix.Slice
    position: ix.Expr
    pad: ix.Expr
    count: ix.Expr

    reverse = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suffix:
    """The last elements of ``slice``; the reverse scan is followed by ``pad`` neutral elements."""

    slice: ix.Slice
    position: ix.Expr
    pad: ix.Expr
    count: ix.Expr

    reverse = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliding:
    """``size`` elements of ``slice``, padded with ``before`` and ``after`` neutral elements."""

    slice: ix.Slice
    position: ix.Expr
    size: ix.Expr
    before: ix.Expr
    after: ix.Expr
    count: ix.Expr


MovingRange = Prefix | Suffix | Sliding


def classify_range(entry: ix.Slice, dim: str, domain: Domain, space: Space) -> MovingRange | None:
    """The kind of range that a slice is along a dimension of the domain; ``None`` if it is none.

    The length of the scan must be known before the run, so bounds that the run ends do not qualify.
    """
    universe = space.universe
    moving_range: MovingRange | None = None
    run_time_bounds = {universe.dim(dim).bound, *symbols(entry)} & {*universe.lengths}
    if run_time_bounds or any(dim in b.outer for b in universe.ended):
        return None
    low, high = dim in symbols(entry.lo), dim in symbols(entry.hi)
    if high and not low:
        moving_range = _prefix(entry, domain, space)
    elif low and not high and entry.step == 1:
        moving_range = _suffix(entry, domain, space)
    elif low and high and entry.step == 1:
        moving_range = _sliding(entry, dim, domain, space)
    return moving_range


def _prefix(entry: ix.Slice, domain: Domain, space: Space) -> Prefix | None:
    """A prefix: the value of a point stands at the position of its last element."""
    end = space.upper_bound(entry.hi, domain)
    last = ceildiv(ix.sub(entry.hi, entry.lo), entry.step)
    least = space.lower_bound(last, domain)
    pad = ix.maximum(ix.ZERO, ix.sub(ix.ONE, least))
    if not _is_invariant(space, end, pad):
        return None
    return Prefix(
        slice=ix.Slice(entry.lo, end, entry.step),
        position=ix.add(last, pad, ix.Const(-1)),
        pad=pad,
        count=extent(entry),
    )


def _suffix(entry: ix.Slice, domain: Domain, space: Space) -> Suffix | None:
    """A suffix: the value of a point stands at the position of its first element."""
    start = space.lower_bound(entry.lo, domain)
    last = space.upper_bound(entry.lo, domain)
    pad = ix.maximum(ix.ZERO, ix.add(ix.sub(last, entry.hi), ix.ONE))
    if not _is_invariant(space, start, pad):
        return None
    return Suffix(
        slice=ix.Slice(start, entry.hi),
        position=ix.sub(entry.lo, start),
        pad=pad,
        count=extent(entry),
    )


def _sliding(entry: ix.Slice, dim: str, domain: Domain, space: Space) -> Sliding | None:
    """A window: the value of a point stands at the position of the point."""
    low, high = (
        _moving_end(entry.lo, ix.IndexMax, dim, space),
        _moving_end(entry.hi, ix.IndexMin, dim, space),
    )
    if low is None or high is None:
        return None
    size = ix.sub(high.shift, low.shift)
    first, last = (f(ix.Sym(dim), domain) for f in (space.lower_bound, space.upper_bound))
    start, stop = space.lower_bound(entry.lo, domain), space.upper_bound(entry.hi, domain)
    before, after = ix.sub(start, ix.add(first, low.shift)), ix.sub(ix.add(last, high.shift), stop)
    if not _is_invariant(space, size, first, start, stop, before, after):
        return None
    cuts = [ix.sub(start, e) for e in low.cuts] + [ix.sub(e, stop) for e in high.cuts]
    positive = (before, after, ix.sub(size, ix.ONE), *cuts)
    if not all(space.implies(Domain(()), ix.compare(">=", e, ix.ZERO)) for e in positive):
        return None
    return Sliding(
        slice=ix.Slice(start, stop),
        position=ix.sub(ix.Sym(dim), first),
        size=size,
        before=before,
        after=after,
        count=extent(entry),
    )


class _RangeEnd(NamedTuple):
    """An end ``t + shift``, clamped to ``cuts``; all over bounds."""

    shift: ix.Expr
    cuts: tuple[ix.Expr, ...]


def _moving_end(
    e: ix.Expr, cut: type[ix.IndexMax] | type[ix.IndexMin], dim: str, space: Space
) -> _RangeEnd | None:
    """An end of a range that moves with the point."""
    parts = e.args if isinstance(e, (ix.IndexMax, ix.IndexMin)) and isinstance(e, cut) else (e,)
    moving = [p for p in parts if dim in symbols(p)]
    cuts = tuple(p for p in parts if p not in moving)
    if len(moving) != 1:
        return None
    shift = ix.sub(moving[0], ix.Sym(dim))
    return _RangeEnd(shift, cuts) if _is_invariant(space, shift, *cuts) else None


def _is_invariant(space: Space, *parts: ix.Expr) -> bool:
    """Whether the expressions name no dimension."""
    return not any(space.universe.is_dim(n) for e in parts for n in symbols(e))
