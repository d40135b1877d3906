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

from tempoc.base.diagnostics import DiagnosticError
from tempoc.frontend import gradient_errors
from tempoc.frontend.point_build import Growing, PointBuild
from tempoc.frontend.transposed import Contribution, Reading, sent
from tempoc.poly.inverse import Inverse, covering, readers
from tempoc.poly.lengths import moves_elsewhere
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import Entry, Sym
from tempoc.symbolic.walk import symbols


def contributions(
    growing: Growing, reading: Reading, source: Domain, prefix: str
) -> list[Contribution]:
    """What a tensor with this domain gets through a read."""
    if growing.space.is_empty(reading.sink):
        return []
    found = _exactly(growing, reading, source, prefix)
    if found is not None:
        return found
    if not _has_slices(growing, reading.sink, reading.entries, source):
        raise DiagnosticError(gradient_errors.other_lengths(reading.spans))
    cover = covering(growing.space, reading.sink, reading.entries, source)
    return [Contribution(where=cover.where, reading=reading, inverse=cover)]


def _exactly(
    growing: Growing, reading: Reading, source: Domain, prefix: str
) -> list[Contribution] | None:
    """The same, if slices say it; `None` if they do not."""
    found = _readers(growing, reading.sink, reading.entries, source)
    if found is not None:
        return [Contribution(where=p.where, reading=reading, inverse=p) for p in found]
    for middle, to, on in _between(growing, reading, source):
        first = _readers(growing, reading.sink, to, middle)
        if first is None:
            continue
        inner = replace(reading, entries=to, dims=middle.dims)
        parts: list[Contribution] = []
        for piece in first:
            outer = _through(growing, inner, piece, middle, prefix)
            rest = _exactly(growing, replace(outer, entries=on, dims=source.dims), source, prefix)
            if rest is None:
                break
            parts += rest
        else:
            return parts
    return None


def _readers(
    growing: Growing, sink: Domain, entries: tuple[Entry, ...], source: Domain
) -> tuple[Inverse, ...] | None:
    """The readers of each point, if slices and conditions say it in terms of lengths there."""
    if not _has_slices(growing, sink, entries, source):
        return None
    found = readers(growing.space, sink, entries, source)
    has = growing.space.universe.has_lengths
    return found if found is None or all(has(p.where, source.dims) for p in found) else None


def _has_slices(
    growing: Growing, sink: Domain, entries: tuple[Entry, ...], source: Domain
) -> bool:
    """Whether readers can be slices: not at points with other lengths, nor over several of them.

    Over steps whose number varies one sums for each point of what it varies with.
    """
    universe = growing.space.universe
    named = [n for e in entries for n in symbols(e)]
    lost = [d for d in sink.dims if d not in named]
    ragged = any(n in lost for d in lost for n in universe.outer(d))
    known = universe.has_lengths(sink.where, sink.dims)
    return known and not ragged and not moves_elsewhere(universe, sink, entries, source)


def _through(
    growing: Growing, inner: Reading, piece: Inverse, middle: Domain, prefix: str
) -> Reading:
    """A read of what the tensor in between gets."""
    space = growing.space
    here = Domain(middle.dims, space.symbolic.simplify(piece.where, middle))
    here = space.intersect(middle, here)
    build = PointBuild(growing=growing, domain=here, prefix=prefix, spans=inner.spans)
    part = Contribution(where=piece.where, reading=inner, inverse=piece)
    return replace(inner, sink=here, term=sent(build, part))


Way = tuple[Domain, tuple[Entry, ...], tuple[Entry, ...]]
"""A domain in between, how the readers read it, and how it reads the source."""


def _between(growing: Growing, reading: Reading, source: Domain) -> Iterator[Way]:
    """Without one dimension that the read does not name, then with the source's dimensions."""
    space, sink = growing.space, reading.sink
    named = [n for e in reading.entries for n in symbols(e)]
    for dim in reversed(sink.dims):
        if dim not in named:
            rest = tuple(d for d in sink.dims if d != dim)
            yield space.project(sink, rest), tuple(Sym(d) for d in rest), reading.entries
    here = tuple(Sym(d) for d in source.dims)
    if reading.entries == here:
        return
    own = dict(zip(source.dims, reading.entries, strict=True))
    free = [d for d in sink.dims if d not in source.dims]
    for count in range(1, len(free) + 1):
        for kept in combinations(free, count):
            dims = growing.graph.universe.ordered((*source.dims, *kept))
            entries = tuple(own.get(d, Sym(d)) for d in dims)
            box = Domain(dims, source.where)
            read = space.symbolic.access_map(sink, entries, box).range()
            yield space.symbolic.domain(read, dims), entries, here
