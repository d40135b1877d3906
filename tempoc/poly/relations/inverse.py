"""Inverted accesses: the readers of a point, as an access in the dimensions of the source."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tempoc.poly.isl import isl
from tempoc.poly.relations import recover
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Inverse:
    """Where `where` holds (over the source's dimensions), the readers are at `entries`.

    If not `exact`, the entries cover the readers and more.
    """

    entries: tuple[ix.Entry, ...]
    where: ix.Expr
    exact: bool


def covering(space: Space, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain) -> Inverse:
    """Slices that contain all readers of each point of the source, with simple limits.

    Divisions are dropped from the limits: they would save little and make conditions long.
    """
    key = ("covering", sink, entries, source)
    return space.known.once(key, lambda: _covering(space, sink, entries, source))


def _covering(space: Space, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain) -> Inverse:
    symbolic = space.symbolic
    readers_of = symbolic.access_map(sink, entries, source).reverse().remove_divs().coalesce()
    where = recover.condition(readers_of.domain(), symbolic.set(source))
    limits: list[ix.Entry] = []
    for k, dim in enumerate(sink.dims):
        limits.append(recover.limits(readers_of, k, symbolic.universe.dim(dim).bound))
    return Inverse(entries=tuple(limits), where=where, exact=False)


def readers(
    space: Space, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain
) -> tuple[Inverse, ...] | None:
    """The exact readers of each point of the source, as pieces that do not share a reader.

    Conditions of different pieces may overlap. `None` where no such pieces exist.
    """
    key = ("readers", sink, entries, source)
    return space.known.once(key, lambda: _readers(space, sink, entries, source))


def _readers(
    space: Space, sink: Domain, entries: tuple[ix.Entry, ...], source: Domain
) -> tuple[Inverse, ...] | None:
    symbolic = space.symbolic
    readers_of = symbolic.access_map(sink, entries, source).reverse().coalesce()
    if readers_of.is_empty():
        return ()
    if sink.dims == source.dims and entries == tuple(ix.Sym(d) for d in sink.dims):
        # Of points in several intervals isl tells where each of these is instead.
        where = recover.condition(readers_of.domain(), symbolic.set(source))
        return (Inverse(entries=entries, where=where, exact=True),)
    single = _piece(symbolic, readers_of, source)
    if single is None or _has_slices(single):
        known = space.access_map(sink, entries, source).reverse().coalesce()
        if known.is_empty():  # for the values that bounds have
            return ()
        point = _point(space, known, sink, source)
        if point is not None:
            return (point,)
    if single is not None and single.exact:
        return (_everywhere(symbolic, readers_of, sink, entries, single, source),)
    parts = [isl.Map.from_basic_map(b) for b in readers_of.make_disjoint().get_basic_maps()]
    pieces: list[Inverse] = []
    for part in parts:
        piece = _piece(symbolic, part, source)
        if piece is None or not piece.exact:
            return None
        pieces.append(_everywhere(symbolic, part, sink, entries, piece, source))
    return tuple(pieces)


def _point(space: Space, readers_of: isl.Map, sink: Domain, source: Domain) -> Inverse | None:
    """The only reader of each point, if values of bounds say so: of `x[(y+1) % 48]`, with 48 `y`.

    Without them it would be a slice of which the length depends on the bound.
    """
    if space.symbolic is space or not readers_of.is_single_valued():
        return None
    piece = _piece(space, readers_of, source)
    if piece is None or not piece.exact or _has_slices(piece):
        return None
    circles = tuple(_around(space, e, d) for e, d in zip(piece.entries, sink.dims, strict=True))
    same = space.access_map(source, circles, sink).intersect_domain(readers_of.domain())
    return replace(piece, entries=circles) if same.is_equal(readers_of) else piece


def _around(space: Space, entry: ix.Entry, dim: str) -> ix.Entry:
    """``y - 48*(y//47) + 1`` as ``(y+1) % 48``, if ``y`` has 48 points: isl divides by either."""
    size = space.universe.settled(ix.Sym(space.universe.dim(dim).bound))
    names = symbols(entry)
    if isinstance(entry, ix.Slice) or len(names) != 1 or not isinstance(size, ix.Const):
        return entry
    (name,) = names
    if isinstance(ix.sub(entry, ix.Sym(name)), ix.Const):
        return entry
    steps = substitute(entry, {name: ix.ZERO})
    return ix.mod(ix.add(ix.Sym(name), steps), size.value)


def _has_slices(piece: Inverse) -> bool:
    return any(isinstance(e, ix.Slice) for e in piece.entries)


def _everywhere(
    space: Space,
    readers: isl.Map,
    sink: Domain,
    entries: tuple[ix.Entry, ...],
    piece: Inverse,
    source: Domain,
) -> Inverse:
    """The piece without its condition, if its slices are empty at all other points anyway.

    The condition is kept if the source was read in slices: a point's position in a slice is not
    defined without it.
    """
    if piece.where == ix.TRUE or not any(isinstance(e, ix.Slice) for e in piece.entries):
        return piece
    if any(isinstance(e, ix.Slice) for e in entries):
        return piece
    if space.outside(source, piece.entries, sink) is not None:
        return piece
    same = space.access_map(source, piece.entries, sink).is_equal(readers)
    return replace(piece, where=ix.TRUE) if same else piece


def _piece(space: Space, readers: isl.Map, source: Domain) -> Inverse | None:
    recovered = recover.entries(readers)
    if recovered is None:
        return None
    where = recover.condition(readers.domain(), space.set(source))
    return Inverse(entries=recovered[0], where=where, exact=recovered[1])
