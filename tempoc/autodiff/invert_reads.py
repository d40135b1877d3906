"""What a tensor gets through a read: from which of its readers, in which way.

Who reads a point is a slice, or several, each under its condition. Where it is not (`x[i+j]`, read
at `i` and `j`), there may be a tensor in between with some of the readers' dimensions, to which it
is and from which it is: `m[i, k] = g[i, k-i]`, summed over `i`. Where nothing of the kind is found,
the readers are covered by slices, and those in them that do not read the point count as 0: for
each point time and memory as for all readers in the slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from tempoc.autodiff import errors
from tempoc.autodiff.covering_reads import read_full_range
from tempoc.autodiff.node_builder import GraphBuilder, PointBuild
from tempoc.autodiff.transpose_read import Contribution, OperandCotangent, transpose
from tempoc.base.diagnostics import DiagnosticError
from tempoc.ops.gradients.calculus import Term
from tempoc.poly.relations.inverse import Inverse, covering, readers
from tempoc.poly.relations.run_lengths import loses_lengths
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import Entry, Sym
from tempoc.symbolic.walk import symbols


def contributions(
    growing: GraphBuilder, reading: OperandCotangent, source: Domain, prefix: str
) -> list[Contribution]:
    """What a tensor with this domain gets through a read."""
    if growing.space.is_empty(reading.sink):
        return []
    for variant in _read_variants(growing, reading, source, prefix):
        exact = _exact_contributions(growing, variant, source, prefix)
        if exact is not None:
            return exact
        if _has_slices(growing, variant.sink, variant.entries, source):
            cover = covering(growing.space, variant.sink, variant.entries, source)
            return [Contribution(where=cover.where, reading=variant, inverse=cover)]
    universe = growing.space.universe
    bound = next(universe.dim(d).bound for d in source.dims if universe.outer(d))
    raise DiagnosticError(errors.other_lengths(reading.spans, bound, universe.outer(bound)[0]))


def _read_variants(
    growing: GraphBuilder, reading: OperandCotangent, source: Domain, prefix: str
) -> Iterator[OperandCotangent]:
    """The read as it is, then one of all that any of its points read, then by all points."""
    yield reading
    wide = read_full_range(growing, reading, source, prefix)
    if wide is None:
        return
    yield wide
    build = PointBuild(growing=growing, domain=wide.sink, prefix=prefix, spans=wide.spans)
    yield replace(wide, sink=Domain(wide.sink.dims), term=build.everywhere(wide.term))


def _exact_contributions(
    growing: GraphBuilder, reading: OperandCotangent, source: Domain, prefix: str
) -> list[Contribution] | None:
    """The same, if slices say it; `None` if they do not."""
    reading = _at_fixed_lengths(growing, reading, source, prefix)
    inverses = _readers(growing, reading.sink, reading.entries, source)
    if inverses is not None:
        return [Contribution(where=p.where, reading=reading, inverse=p) for p in inverses]
    for middle, inner, on in _intermediate_tensors(growing, reading, source):
        first = _readers(growing, inner.sink, inner.entries, middle)
        if first is None:
            continue
        parts: list[Contribution] = []
        for piece in first:
            term, domain = _intermediate_cotangent(growing, inner, piece, middle, prefix)
            outer = replace(reading, sink=domain, term=term, entries=on)
            outer_parts = _exact_contributions(growing, outer, source, prefix)
            if outer_parts is None:
                break
            parts += outer_parts
        else:
            return parts
    return None


def _at_fixed_lengths(
    growing: GraphBuilder, reading: OperandCotangent, source: Domain, prefix: str
) -> OperandCotangent:
    """The read from all points, of 0 at more, if lengths matter for where it happens alone."""
    if _has_slices(growing, reading.sink, reading.entries, source):
        return reading
    box = Domain(reading.sink.dims)
    if not _has_slices(growing, box, reading.entries, source):
        return reading
    build = PointBuild(growing=growing, domain=reading.sink, prefix=prefix, spans=reading.spans)
    return replace(reading, sink=box, term=build.everywhere(reading.term))


def _readers(
    growing: GraphBuilder, sink: Domain, entries: tuple[Entry, ...], source: Domain
) -> tuple[Inverse, ...] | None:
    """The readers of each point, if slices and conditions say it in terms of lengths there."""
    if not _has_slices(growing, sink, entries, source):
        return None
    return readers(growing.space, sink, entries, source)


def _has_slices(
    growing: GraphBuilder, sink: Domain, entries: tuple[Entry, ...], source: Domain
) -> bool:
    """Whether readers can be slices: not if they have several lengths.

    Over steps whose number varies one sums for each point of what it varies with.
    """
    return not loses_lengths(growing.space.universe, sink, entries, source)


def _intermediate_cotangent(
    growing: GraphBuilder, inner: OperandCotangent, piece: Inverse, middle: Domain, prefix: str
) -> tuple[Term, Domain]:
    """What the tensor in between gets, and where it gets that."""
    space = growing.space
    domain = Domain(middle.dims, space.symbolic.simplify(piece.where, middle))
    domain = space.intersect(middle, domain)
    build = PointBuild(growing=growing, domain=domain, prefix=prefix, spans=inner.spans)
    part = Contribution(where=piece.where, reading=inner, inverse=piece)
    return transpose(build, part), domain


InvertedRead = tuple[Domain, OperandCotangent, tuple[Entry, ...]]
"""A domain in between, how the readers read it, and how it reads the source."""


def _intermediate_tensors(
    growing: GraphBuilder, reading: OperandCotangent, source: Domain
) -> Iterator[InvertedRead]:
    """Without one dimension that the read does not name, then with the source's dimensions."""
    space, sink = growing.space, reading.sink
    named = [n for e in reading.entries for n in symbols(e)]
    for dim in reversed(sink.dims):
        if dim not in named:
            remaining = tuple(d for d in sink.dims if d != dim)
            same = tuple(Sym(d) for d in remaining)
            inner = replace(reading, entries=same, dims=remaining, shape=reading.term.shape)
            yield space.project(sink, remaining), inner, reading.entries
    source_point = tuple(Sym(d) for d in source.dims)
    if reading.entries == source_point:
        return
    own = dict(zip(source.dims, reading.entries, strict=True))
    free = [d for d in sink.dims if d not in source.dims]
    for count in range(1, len(free) + 1):
        for added in combinations(free, count):
            dims = growing.graph.universe.ordered((*source.dims, *added))
            entries = tuple(own.get(d, Sym(d)) for d in dims)
            box = Domain(dims, source.where)
            read = space.symbolic.access_map(sink, entries, box).range()
            inner = replace(reading, entries=entries, dims=dims)
            yield space.symbolic.domain(read, dims), inner, source_point
