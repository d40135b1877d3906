"""Witness points as text, in names of the source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import symbols


def shown_point(
    universe: Universe,
    dims: tuple[str, ...],
    about: Iterable[ix.Entry],
    point: Mapping[str, int],
) -> str:
    """` when t = 0` or ` when T = 1`: the witness restricted to the symbols of `about`.

    Dimensions first, then bounds.
    """
    named = dict.fromkeys(n for e in about for n in symbols(e))
    shown = [d for d in dims if d in named or len(dims) == 1]
    bounds = [n for n in named if not universe.is_dim(n)]
    parts = [f"{n} = {point[n]}" for n in (*shown, *bounds) if n in point]
    return f" when {' and '.join(parts)}" if parts else ""
