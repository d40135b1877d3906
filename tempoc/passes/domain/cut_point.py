"""A cut point along a dimension, and the conditions that say which side of it is accessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

CutSide = Literal["early", "late"]
SIDES: tuple[CutSide, CutSide] = ("early", "late")


class NodePart(NamedTuple):
    """The part of a node on one side of the cut."""

    node: str
    side: CutSide


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A cut point along a dimension: ``dim < at`` is early, ``dim >= at`` is late."""

    dim: str
    at: ix.Expr

    def on(self, side: CutSide, e: ix.Expr | None = None) -> ix.Expr:
        """The condition that a point along the dimension is on a side."""
        return ix.compare("<" if side == "early" else ">=", e or ix.Sym(self.dim), self.at)

    def boundary(self, side: CutSide) -> ix.Expr:
        """The boundary point of a side: the one next to the other side."""
        return ix.sub(self.at, ix.ONE) if side == "early" else self.at

    def is_boundary(self, side: CutSide) -> ix.Expr:
        """The condition that a point along the dimension is the boundary point of a side."""
        return ix.compare("==", ix.Sym(self.dim), self.boundary(side))

    def is_from(self, first: ix.Expr) -> ix.Expr:
        """The condition that a point along the dimension is not before ``first``."""
        return ix.compare(">=", ix.Sym(self.dim), first)

    def touches(self, side: CutSide, entry: ix.Entry) -> ix.Expr:
        """The condition that an access reads something of a side."""
        if not isinstance(entry, ix.Slice):
            return self.on(side, entry)
        last = entry.lo if side == "early" else ix.sub(entry.hi, ix.ONE)
        return ix.conjunction(ix.compare("<", entry.lo, entry.hi), self.on(side, last))

    def reads_only_boundary(self, side: CutSide, entry: ix.Entry) -> ix.Expr:
        """The condition that an access reads at most the boundary point of a side."""
        low, high = (
            (entry.lo, entry.hi) if isinstance(entry, ix.Slice) else (entry, ix.add(entry, ix.ONE))
        )
        if side == "early":
            return ix.compare(">=", low, ix.sub(self.at, ix.ONE))
        return ix.compare("<=", high, ix.add(self.at, ix.ONE))


def first_of(entry: ix.Entry) -> ix.Expr:
    """The first point of an access."""
    return entry.lo if isinstance(entry, ix.Slice) else entry


def part_of(domain: Domain, cut: Cut, side: CutSide, space: Space) -> Domain:
    """The points of a domain on a side."""
    return space.restrict(domain, cut.on(side))


def other_side(side: CutSide) -> CutSide:
    """The side beyond the cut."""
    return "late" if side == "early" else "early"
