"""Accesses turned around: who reads a point, as an access of the readers again."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from tempoc.poly import recover
from tempoc.poly.space import Space
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import Entry, Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Inverse:
    """Where `where` holds (over the source's dimensions), the readers are at `entries`.

    If not `exact`, the entries cover the readers and more.
    """

    entries: tuple[Entry, ...]
    where: Expr
    exact: bool


def inverse(
    space: Space, sink: Domain, entries: tuple[Entry, ...], source: Domain
) -> tuple[Inverse, ...]:
    """The readers of each point of the source, in pieces with disjoint conditions.

    Empty if a piece has limits that no expression states. `x[t:T]` read at `t` gives `0:t+1`.
    """
    there = space.symbolic
    readers = there.access_map(sink, entries, source).reverse().coalesce()
    whole = _piece(there, readers, source)
    if whole is not None and whole.exact:
        return (whole,)
    parts = [isl.Map.from_basic_map(b) for b in readers.make_disjoint().get_basic_maps()]
    pieces = [piece for p in parts if (piece := _piece(there, p, source)) is not None]
    disjoint = all(
        space.disjoint(a.where, b.where, source)
        for k, a in enumerate(pieces)
        for b in pieces[k + 1 :]
    )
    if len(pieces) == len(parts) and disjoint and all(p.exact for p in pieces):
        return tuple(pieces)
    return () if whole is None else (whole,)


def _piece(space: Space, readers: isl.Map, source: Domain) -> Inverse | None:
    found = recover.entries(readers)
    if found is None:
        return None
    where = recover.condition(readers.domain(), space.set(source))
    return Inverse(entries=found[0], where=where, exact=found[1])
