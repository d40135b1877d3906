"""Where a point stands along dimensions that it does not have.

With ``dim i < I`` and ``dim k < K = 16 * I``, step ``k`` belongs to iteration ``k // 16``: a loop
over ``i`` may run it there. So a domain has, beside its own dimensions, those whose bound is a
multiple of theirs, or theirs a multiple of it, as far as bounds are declared that way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import Expr, FloorDiv, IndexSum, Sym, floordiv


@cache
def coordinates(universe: Universe, dims: tuple[str, ...]) -> dict[str, Expr]:
    """The coordinate along each dimension that has one, in declaration order.

    A dimension that follows from several of ``dims`` has none.
    """
    found: dict[str, Expr] = {d: Sym(d) for d in dims}
    for coarse in universe.dims:
        steps = {d: _step(universe, d, coarse.bound) for d in dims}
        known = [(d, c) for d, c in steps.items() if c is not None]
        if coarse.name not in dims and len(known) == 1:
            ((fine, step),) = known
            found[coarse.name] = floordiv(Sym(fine), step)
    return {d.name: found[d.name] for d in universe.dims if d.name in found}


def _step(universe: Universe, fine: str, coarse: str) -> int | None:
    """The number of points along a dimension for each one below the bound ``coarse``."""
    bounds = {b.name: b.value for b in universe.bounds}
    own = universe.dim(fine).bound
    return _multiple(bounds, own, coarse) or _whole(bounds[coarse], own)


def _multiple(bounds: Mapping[str, Expr | None], name: str, of: str) -> int | None:
    """``c`` of ``c * I``, also if it takes several bounds to say so."""
    match bounds[name]:
        case IndexSum(terms=((c, Sym(name=other)),), const=0) if c > 1:
            more = 1 if other == of else _multiple(bounds, other, of)
            return None if more is None else c * more
    return None


def _whole(value: Expr | None, of: str) -> int | None:
    """``c`` of ``(T + c - 1) // c``."""
    match value:
        case FloorDiv(arg=IndexSum(terms=((1, Sym(name=name)),), const=rest), divisor=c):
            return c if name == of and rest == c - 1 else None
    return None
