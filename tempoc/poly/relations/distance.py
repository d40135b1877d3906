"""Dependence directions: the signs of the distances between readers and writers, exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from tempoc.poly.isl import integer, isl
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

Signs = frozenset[int]


class AccessPair(NamedTuple):
    """A reader and a writer of a tensor.

    The reader reads the tensor at ``read``, the writer writes it at ``written``, each in its own
    dimensions.
    """

    reader: Domain
    read: tuple[ix.Entry, ...]
    tensor: Domain
    writer: Domain
    written: tuple[ix.Expr, ...]


def signs(
    space: Space, passage: AccessPair, along: Mapping[str, tuple[ix.Expr, ix.Expr]]
) -> dict[str, Signs] | None:
    """The possible signs of a coordinate of the reader minus one of the writer, by name.

    Bounds with a compile-time value are treated as symbolic. ``None``: there is no dependence.
    """
    symbolic, once = space.symbolic, space.known.once
    dims = passage.reader.dims, passage.writer.dims
    pairs = _pairs(space, passage)
    if once(("no pairs", passage), pairs.is_empty):
        return None

    def of(pair: tuple[ix.Expr, ix.Expr]) -> Signs:
        stated = _stated_distance(passage, *pair)
        if stated is not None:
            return frozenset(((stated > 0) - (stated < 0),))
        return _possible(symbolic, pairs, dims, pair)

    return {name: once(("sign", passage, pair), partial(of, pair)) for name, pair in along.items()}


def _stated_distance(passage: AccessPair, own: ix.Expr, other: ix.Expr) -> int | None:
    """The distance of two coordinates, if an index says it: ``t - 1`` is read, ``t`` written."""
    for read, written in zip(passage.read, passage.written, strict=True):
        if isinstance(read, ix.Expr):
            first, second = ix.sub(read, own), ix.sub(written, other)
            if isinstance(first, ix.Const) and isinstance(second, ix.Const):
                return second.value - first.value
    return None


def least(
    space: Space,
    passage: AccessPair,
    along: tuple[ix.Expr, ix.Expr],
    same: Sequence[tuple[ix.Expr, ix.Expr]],
    direction: int,
) -> int | None:
    """The least distance between a coordinate of the writer and one of the reader, in a direction.

    Of pairs with equal coordinates ``same``, each the reader's first. ``None`` if there is none:
    it has no limit, or there is no pair.
    """
    symbolic = space.symbolic
    pairs = _pairs(space, passage)
    at = symbolic.frame.coordinates

    def coordinates(pair: tuple[ix.Expr, ix.Expr]) -> tuple[isl.PwAff, isl.PwAff]:
        dims = passage.reader.dims, passage.writer.dims
        first, second = (symbolic.frame.value(e, at(d)) for e, d in zip(pair, dims, strict=True))
        return first, second

    for pair in same:
        first, second = coordinates(pair)
        pairs = pairs.intersect(first.eq_map(second))
    if pairs.is_empty():
        return None
    reader, writer = (c.as_map() for c in coordinates(along))
    gaps = pairs.apply_domain(reader).apply_range(writer).deltas()  # writer minus reader
    gap = gaps.dim_max_val(0).neg() if direction > 0 else gaps.dim_min_val(0)
    return integer(gap) if gap.is_int() else None


def _pairs(space: Space, passage: AccessPair) -> isl.Map:
    """The points of the reader, each with those of the writer that write what it reads."""

    def compute() -> isl.Map:
        symbolic = space.symbolic
        reads = symbolic.access_map(passage.reader, passage.read, passage.tensor)
        writes = symbolic.access_map(passage.writer, passage.written, passage.tensor)
        return reads.apply_range(writes.reverse())

    return space.known.once(("pairs", passage), compute)


def sides(
    space: Space,
    pairs: isl.Map,
    dims: tuple[tuple[str, ...], tuple[str, ...]],
    along: Mapping[str, tuple[ix.Expr, ix.Expr]],
) -> dict[str, Signs] | None:
    """The possible signs for pairs of points, the reader first, with these dimensions."""
    if pairs.is_empty():
        return None
    return {name: _possible(space, pairs, dims, pair) for name, pair in along.items()}


def _possible(
    space: Space,
    pairs: isl.Map,
    dims: tuple[tuple[str, ...], tuple[str, ...]],
    along: tuple[ix.Expr, ix.Expr],
) -> Signs:
    """The signs of the difference of two coordinates over pairs of points with ``dims``."""
    at = space.frame.coordinates
    first, second = (space.frame.value(e, at(d)) for e, d in zip(along, dims, strict=True))
    orders = {-1: first.lt_map(second), 0: first.eq_map(second), 1: first.gt_map(second)}
    return frozenset(s for s, m in orders.items() if not pairs.intersect(m).is_empty())
