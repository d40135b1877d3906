"""Covering reads: reads at points with other lengths as an index into a slice of all points.

Where `T` varies with `b`, the readers `(b, t)` of `w[max(b-t, 0)]` are no slices of `b` and `t` in
terms of one length. Rewritten to `(w[0:B])[max(b-t, 0)]` they are: each of them reads all points.
The cotangent then has one more axis, and is 0 at all positions but the indexed one.
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
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, slice_count
from tempoc.symbolic.walk import extent


def read_full_range(
    builder: GraphBuilder, operand: OperandCotangent, source: Domain, prefix: str
) -> OperandCotangent | None:
    """The operand with covering slices for the entries that are not the reader's own point.

    `None` if there is no such entry, or the covering slice depends on a length that varies.
    """
    space, sink = builder.space, operand.sink
    pairs = list(zip(operand.dims, operand.entries, strict=True))
    covers = {d: _covering_slice(space, sink, d, e) for d, e in pairs if e != ix.Sym(d)}
    slices = {d: e for d, e in covers.items() if e is not None}
    if not covers or len(slices) < len(covers):
        return None
    rank = slice_count(operand.entries)
    element_shape = operand.term.shape[rank:]
    extents = [
        ix.maximum(space.upper_bound(own_extent, sink), space.upper_bound(source_extent, source))
        for own_extent, source_extent in zip(element_shape, operand.shape, strict=True)
    ]
    index: list[IndexPart] = [
        _index_into(space, sink, e, slices[d]) for d, e in pairs if d in slices
    ]
    op = SpatialIndex(entries=(*index, *((ix.ZERO, e, 1) for e in element_shape)))
    shape = (*(ix.sub(e.hi, e.lo) for e in slices.values()), *extents)
    full_read = Term(TensorType(operand.term.type.dtype, shape), None)
    build = PointBuild(builder=builder, domain=sink, prefix=prefix, spans=operand.spans)
    term = getitem(op, build.calculus, (full_read,), (), (operand.term,))[0]
    assert term is not None
    entries: tuple[ix.Entry, ...] = tuple(slices.get(d, e) for d, e in pairs)
    return None if entries == operand.entries else replace(operand, entries=entries, term=term)


def _covering_slice(space: Space, sink: Domain, dim: str, entry: ix.Entry) -> ix.Slice | None:
    """A contiguous slice of a dimension that covers what all readers read."""
    first, stop = (
        (entry.lo, entry.hi) if isinstance(entry, ix.Slice) else (entry, ix.add(entry, ix.Const(1)))
    )
    low, high = space.lower_bound(first, sink), space.upper_bound(stop, sink)
    bound = ix.Sym(space.universe.dim(dim).bound)
    for cover in (ix.Slice(low, ix.maximum(low, high)), ix.Slice(ix.ZERO, bound)):
        if space.universe.has_lengths(cover, ()):
            return cover
    return None


def _index_into(space: Space, sink: Domain, entry: ix.Entry, wide: ix.Slice) -> IndexPart:
    """An entry as an index into the axis of its covering slice."""
    if not isinstance(entry, ix.Slice):
        return ix.sub(entry, wide.lo)
    first = space.reduce(ix.minimum(entry.lo, wide.hi), sink)  # an empty slice may begin anywhere
    return ix.sub(first, wide.lo), space.reduce(extent(entry), sink), entry.step
