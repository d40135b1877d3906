"""Reads at points with other lengths: all that is read of such dimensions at once, then picked.

Where `T` varies with `b`, the readers `(b, t)` of `w[max(b-t, 0)]` are no slices of `b` and `t` in
terms of one length. Read as `(w[0:B])[max(b-t, 0)]` they are: all of them read all points. What
they send is an axis longer, 0 where they do not pick.
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.autodiff.node_builder import GraphBuilder, PointBuild
from tempoc.autodiff.transpose_read import OperandCotangent
from tempoc.ops.definition.types import TensorType
from tempoc.ops.gradients.calculus import Term
from tempoc.ops.gradients.indexing import getitem
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.poly.relations.space import Space
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import (
    ZERO,
    Const,
    Entry,
    Slice,
    Sym,
    add,
    maximum,
    minimum,
    sub,
)
from tempoc.symbolic.walk import extent


def read_full_range(
    growing: GraphBuilder, reading: OperandCotangent, source: Domain, prefix: str
) -> OperandCotangent | None:
    """The reading with slices for the entries that are not the point at hand.

    `None` if there is no such entry, or how much is read depends on a length that varies.
    """
    space, sink = growing.space, reading.sink
    pairs = list(zip(reading.dims, reading.entries, strict=True))
    covers = {d: _covering_slice(space, sink, d, e) for d, e in pairs if e != Sym(d)}
    slices = {d: e for d, e in covers.items() if e is not None}
    if not covers or len(slices) < len(covers):
        return None
    rank = sum(isinstance(e, Slice) for e in reading.entries)
    own = reading.term.shape[rank:]
    extents = [
        maximum(space.upper_bound(own_extent, sink), space.upper_bound(source_extent, source))
        for own_extent, source_extent in zip(own, reading.shape, strict=True)
    ]
    index: list[IndexPart] = [
        _index_into(space, sink, e, slices[d]) for d, e in pairs if d in slices
    ]
    op = SpatialIndex(entries=(*index, *((ZERO, e, 1) for e in own)))
    shape = (*(sub(e.hi, e.lo) for e in slices.values()), *extents)
    full_read = Term(TensorType(reading.term.type.dtype, shape), None)
    build = PointBuild(growing=growing, domain=sink, prefix=prefix, spans=reading.spans)
    term = getitem(op, build.calculus, (full_read,), (), (reading.term,))[0]
    assert term is not None
    entries: tuple[Entry, ...] = tuple(slices.get(d, e) for d, e in pairs)
    return None if entries == reading.entries else replace(reading, entries=entries, term=term)


def _covering_slice(space: Space, sink: Domain, dim: str, entry: Entry) -> Slice | None:
    """All that any of the readers read of a dimension, as a slice without steps."""
    first, stop = (
        (entry.lo, entry.hi) if isinstance(entry, Slice) else (entry, add(entry, Const(1)))
    )
    low, high = space.lower_bound(first, sink), space.upper_bound(stop, sink)
    bound = Sym(space.universe.dim(dim).bound)
    for cover in (Slice(low, maximum(low, high)), Slice(ZERO, bound)):
        if space.universe.has_lengths(cover, ()):
            return cover
    return None


def _index_into(space: Space, sink: Domain, entry: Entry, wide: Slice) -> IndexPart:
    """What is read, as an index into the axis of all that is."""
    if not isinstance(entry, Slice):
        return sub(entry, wide.lo)
    first = space.reduce(minimum(entry.lo, wide.hi), sink)  # an empty slice may begin anywhere
    return sub(first, wide.lo), space.reduce(extent(entry), sink), entry.step
