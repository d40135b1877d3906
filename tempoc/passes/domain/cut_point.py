"""A place along a dimension, and what lies on either side of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from tempoc.poly.relations.space import Space
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ONE, Entry, Expr, Slice, Sym, add, compare, conjunction, sub

CutSide = Literal["early", "late"]
SIDES: tuple[CutSide, CutSide] = ("early", "late")


class NodePart(NamedTuple):
    """A part of a node."""

    node: str
    side: CutSide


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A place along a dimension: ``dim < at`` is early, ``dim >= at`` is late."""

    dim: str
    at: Expr

    def on(self, side: CutSide, e: Expr | None = None) -> Expr:
        """That a point along the dimension is on a side."""
        return compare("<" if side == "early" else ">=", e or Sym(self.dim), self.at)

    def beside(self, side: CutSide) -> Expr:
        """The point of a side that is next to the other one."""
        return sub(self.at, ONE) if side == "early" else self.at

    def is_beside(self, side: CutSide) -> Expr:
        """That a point along the dimension is that one."""
        return compare("==", Sym(self.dim), self.beside(side))

    def touches(self, side: CutSide, entry: Entry) -> Expr:
        """That an access reads something of a side."""
        if not isinstance(entry, Slice):
            return self.on(side, entry)
        last = entry.lo if side == "early" else sub(entry.hi, ONE)
        return conjunction(compare("<", entry.lo, entry.hi), self.on(side, last))

    def stays_beside(self, side: CutSide, entry: Entry) -> Expr:
        """That an access which touches a side reads only the point next to the other one."""
        low, high = (entry.lo, entry.hi) if isinstance(entry, Slice) else (entry, add(entry, ONE))
        if side == "early":
            return compare(">=", low, sub(self.at, ONE))
        return compare("<=", high, add(self.at, ONE))


def part_of(domain: Domain, cut: Cut, side: CutSide, space: Space) -> Domain:
    """The points of a domain on a side."""
    return narrowed(domain, cut.on(side), space)


def narrowed(domain: Domain, condition: Expr, space: Space) -> Domain:
    """The points of a domain at which a condition holds."""
    where = conjunction(domain.where, condition)
    return Domain(domain.dims, space.simplify(where, Domain(domain.dims)))


def other_side(side: CutSide) -> CutSide:
    """The side beyond the cut."""
    return "late" if side == "early" else "early"
