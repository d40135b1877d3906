"""Tensors of zeros and ones, or bools, that are set at one place, which data choose.

These are ``one_hot(j, n)``, ``arange(n) == j``, what is compared with them, and products of some
that lie along different axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import OneHot
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import ExpandDims
from tempoc.ops.tensor.source import Arange
from tempoc.passes.simplify.rules.pattern import Kind, Match
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic import expr as ix

_FITTING: dict[Kind, Callable[[Scalar], bool]] = {
    binary.Greater: lambda bound: 0 <= bound < 1,
    binary.GreaterEqual: lambda bound: 0 < bound <= 1,
    binary.Equal: lambda bound: bound == 1,
    binary.NotEqual: lambda bound: bound == 0,
}
"""For which numbers a comparison of zero or one with it holds for one alone."""


@dataclass(frozen=True, slots=True)
class Place:
    """One position ``idx`` of an axis of extent ``n``, counted from the last, which is 1."""

    back: int
    idx: Edge
    n: ix.Expr


@dataclass(frozen=True, slots=True)
class Mask:
    """A bool tensor that holds at these places, where the rest holds, too."""

    places: tuple[Place, ...] = ()
    rest: tuple[Edge, ...] = ()

    def __add__(self, other: Mask) -> Mask:
        return Mask(self.places + other.places, self.rest + other.rest)


def mask_of(v: Match, edge: Edge) -> Mask:
    """A condition as places, and what else must hold."""
    if both := v.producer(edge, binary.And):
        first, second = (mask_of(v, e) for e in both.edges)
        return first + second
    return Mask(tuple(places)) if (places := _places(v, edge)) else Mask(rest=(edge,))


def _places(v: Match, edge: Edge) -> list[Place]:
    """The places at which alone a condition holds, one of each axis; empty if it is no such one."""
    if deeper := v.producer(edge, ExpandDims):
        return _expanded(v, deeper.op, deeper.edges[0], _places(v, deeper.edges[0]))
    if equal := v.producer(edge, binary.Equal):
        for axis, idx in (equal.edges, equal.edges[::-1]):
            if place := _equal(v, axis, idx):
                return [place]
    return next((places for e in _compared(v, edge) if (places := hot_places(v, e))), [])


def excluded_place(v: Match, edge: Edge) -> Place | None:
    """The one place at which a condition does not hold."""
    if unequal := v.producer(edge, binary.NotEqual):
        both = (unequal.edges, unequal.edges[::-1])
        return next((place for axis, idx in both if (place := _equal(v, axis, idx))), None)
    return None


def _equal(v: Match, axis: Edge, idx: Edge) -> Place | None:
    """The place of ``arange(n) == idx``, where the axis may have others of extent 1 behind it."""
    back = 1
    while p := v.producer(axis, ExpandDims):
        if p.op.axis not in (v.type_of(p.edges[0]).ndim, -1):
            return None
        axis, back = p.edges[0], back + 1
    counted = v.producer(axis, Arange)
    if counted is None or (counted.op.start, counted.op.step) != (ix.ZERO, 1):
        return None
    if v.type_of(idx).shape or {v.dtype_of(axis), v.dtype_of(idx)} != {DType.I32}:
        return None
    return Place(back, idx, v.type_of(axis).shape[0])


def _compared(v: Match, edge: Edge) -> Iterator[Edge]:
    """A tensor of zeros and ones that a condition holds for where it is 1."""
    if cast := v.producer(edge, unary.Cast):
        yield cast.edges[0]
    for kind, fits in _FITTING.items():
        if compared := v.producer(edge, kind):
            bound = v.number(compared.edges[1])
            if bound is not None and fits(bound):
                yield compared.edges[0]


def hot_places(v: Match, edge: Edge) -> list[Place]:
    """The places of a ``one_hot``, or of a product of several along other axes."""
    if hot := v.producer(edge, OneHot):
        idx = hot.edges[0]
        fits = not v.type_of(idx).shape and v.dtype_of(idx) is DType.I32
        return [Place(1, idx, hot.op.n)] if fits else []
    if deeper := v.producer(edge, ExpandDims):
        return _expanded(v, deeper.op, deeper.edges[0], hot_places(v, deeper.edges[0]))
    if cast := v.producer(edge, unary.Cast):
        return hot_places(v, cast.edges[0])
    if product := v.producer(edge, binary.Multiply):
        first, second = (hot_places(v, e) for e in product.edges)
        apart = not {a.back for a in first} & {b.back for b in second}
        return [*first, *second] if first and second and apart else []
    return []


def _expanded(v: Match, op: ExpandDims, edge: Edge, places: list[Place]) -> list[Place]:
    """The places after a new axis."""
    ndim = v.type_of(edge).ndim
    new = op.axis % (ndim + 1)
    return [replace(p, back=p.back + (ndim - p.back < new)) for p in places]
