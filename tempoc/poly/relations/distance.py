"""Dependence directions: the signs of the distances between readers and writers, exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

Signs = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPair:
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
    symbolic = space.symbolic
    reads = symbolic.access_map(passage.reader, passage.read, passage.tensor)
    writes = symbolic.access_map(passage.writer, passage.written, passage.tensor)
    pairs = reads.apply_range(writes.reverse())
    return sides(symbolic, pairs, (passage.reader.dims, passage.writer.dims), along)


def sides(
    space: Space,
    pairs: isl.Map,
    dims: tuple[tuple[str, ...], tuple[str, ...]],
    along: Mapping[str, tuple[ix.Expr, ix.Expr]],
) -> dict[str, Signs] | None:
    """The possible signs for pairs of points, the reader first, with these dimensions."""
    at = space.frame.coordinates
    if pairs.is_empty():
        return None
    possible: dict[str, Signs] = {}
    for name, (own, other) in along.items():
        first = space.frame.value(own, at(dims[0]))
        second = space.frame.value(other, at(dims[1]))
        orders = {-1: first.lt_map(second), 0: first.eq_map(second), 1: first.gt_map(second)}
        possible[name] = frozenset(
            s for s, m in orders.items() if not pairs.intersect(m).is_empty()
        )
    return possible
