"""The points at which two `save` statements write the same file."""

from __future__ import annotations

import re
from itertools import zip_longest

from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import substitute

_NUMBER = re.compile(r"((?:\{[^{}]*\}|[0-9])+)")
"""A number in the name of a file: digits, and holes, which indices fill."""
_HOLE = re.compile(r"\{([^{}]*)\}")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,9}")
"""An index, which has 32 bits."""


def points_of_one_file(
    space: Space, path: str, here: Domain, other: str, there: Domain
) -> Domain | None:
    """The points ``here`` whose file, by ``path``, is that of ``other`` at a point ``there``.

    ``None`` if there are none, or if the texts do not say which ones, as of holes side by side.
    Dimensions that have no hole have one value at all points.
    """
    universe = space.universe
    equations: list[tuple[ix.Expr, ix.Expr]] = []
    for own, theirs in zip_longest(_NUMBER.split(path), _NUMBER.split(other), fillvalue=""):
        equal = _equal(own, theirs)
        if equal is None:
            return None
        equations += equal
    if space.is_empty(there):
        return None
    point: dict[str, ix.Expr] = {}
    conditions = [here.where]
    for index, e in equations:
        if isinstance(e, ix.Sym) and e.name not in point:
            point[e.name] = index
        else:
            conditions.append(ix.compare("==", index, substitute(e, point)))
    for dim in there.dims:
        index = point.setdefault(dim, space.lower_bound(ix.Sym(dim), there))
        if index != ix.Sym(dim):
            if universe.outer(dim):
                return None  # the length at a point of the others
            conditions.append(ix.compare("<", index, ix.Sym(universe.dim(dim).bound)))
    if universe.moves(there.where, point):
        return None
    return Domain(here.dims, ix.conjunction(*conditions, substitute(there.where, point)))


def _equal(own: str, theirs: str) -> list[tuple[ix.Expr, ix.Expr]] | None:
    """Which indices are equal where these parts of two paths are; ``None``: they are not."""
    if own == theirs:
        return [(ix.Sym(name), ix.Sym(name)) for name in _HOLE.findall(own)]
    pair = _index(own), _index(theirs)
    return None if pair[0] is None or pair[1] is None else [(pair[0], pair[1])]


def _index(part: str) -> ix.Expr | None:
    """What is a hole, or fills one."""
    if hole := _HOLE.fullmatch(part):
        return ix.Sym(hole[1])
    return ix.Const(int(part)) if _DECIMAL.fullmatch(part) else None
