"""Derived coordinates of a point along dimensions that are not in its domain.

With ``dim i < I`` and ``dim k < K = 16 * I``, step ``k`` belongs to iteration ``k // 16``: a loop
over ``i`` may execute it there. A domain therefore has, beside its own dimensions, a coordinate
along each dimension whose declared bound divides the bound of one of them (``K = 16 * I``, or
``I = (K+15) // 16``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe


@cache
def coordinates(universe: Universe, dims: tuple[str, ...]) -> dict[str, ix.Expr]:
    """The coordinate along each dimension, own or derived, in declaration order.

    A dimension that could be derived from several of ``dims`` has no coordinate.
    """
    positions: dict[str, ix.Expr] = {d: ix.Sym(d) for d in dims}
    for coarse in universe.dims:
        steps = {d: _points_per_coarse(universe, d, coarse.bound) for d in dims}
        strides = [(d, c) for d, c in steps.items() if c is not None]
        if coarse.name not in dims and len(strides) == 1:
            ((fine, step),) = strides
            positions[coarse.name] = ix.floordiv(ix.Sym(fine), step)
    return {d.name: positions[d.name] for d in universe.dims if d.name in positions}


def _points_per_coarse(universe: Universe, fine: str, coarse: str) -> int | None:
    """The number of points of ``fine`` per point below the bound ``coarse``; None if unknown."""
    bounds = {b.name: b.value for b in universe.bounds}
    own = universe.dim(fine).bound
    return _multiple(bounds, own, coarse) or _ceildiv_divisor(bounds[coarse], own)


def _multiple(bounds: Mapping[str, ix.Expr | None], name: str, of: str) -> int | None:
    """``c`` of ``c * I``, also through a chain of derived bounds."""
    match bounds[name]:
        case ix.IndexSum(terms=((c, ix.Sym(name=other)),), const=0) if c > 1:
            more = 1 if other == of else _multiple(bounds, other, of)
            return None if more is None else c * more
    return None


def _ceildiv_divisor(value: ix.Expr | None, of: str) -> int | None:
    """``c`` of ``(T + c - 1) // c``."""
    match value:
        case ix.FloorDiv(arg=ix.IndexSum(terms=((1, ix.Sym(name=name)),), const=rest), divisor=c):
            return c if name == of and rest == c - 1 else None
    return None
