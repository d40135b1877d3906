"""Accesses as isl maps, from the points of a sink to the points of the source that they read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tempoc.base.effort import EFFORT
from tempoc.poly.isl import D, isl
from tempoc.poly.relations.sets import Coordinates, IslFrame
from tempoc.symbolic import expr as ix


def access(
    frame: IslFrame, sink: Coordinates, entries: Sequence[ix.Entry], source: Coordinates
) -> isl.Map:
    """The access, not restricted to any domain; an empty slice relates to no point."""
    universe = isl.Set.universe
    m = isl.Map.from_domain_and_range(universe(sink.space), universe(source.space))
    local = isl.LocalSpace.from_space(source.space)
    for k, entry in enumerate(entries):
        # A constraint is added in a fifth of the time in which isl intersects with a map of it.
        if isinstance(entry, ix.Sym) and entry.name in sink.places:
            m = m.equate(D.in_, sink.places[entry.name], D.out, k)
            continue
        if isinstance(entry, ix.Const):
            m = m.fix_val(D.out, k, frame.val(entry.value))
            continue
        out = isl.Aff.var_on_domain(local, D.set, k).to_pw_aff()
        if not isinstance(entry, ix.Slice):
            m = m.intersect(frame.value(entry, sink).eq_map(out))
            continue
        # One condition for each operand of `max` and `min`: as values they are unions, and those of
        # several entries multiply.
        for e in entry.lo.args if isinstance(entry.lo, ix.IndexMax) else (entry.lo,):
            if isinstance(e, ix.Const):
                m = m.lower_bound_val(D.out, k, frame.val(e.value))
            else:
                m = m.intersect(frame.value(e, sink).le_map(out))
        for e in entry.hi.args if isinstance(entry.hi, ix.IndexMin) else (entry.hi,):
            m = m.intersect(frame.value(e, sink).gt_map(out))
        if entry.step != 1:
            step = frame.val(entry.step)
            low = frame.value(entry.lo, sink)
            m = m.intersect(low.mod_val(step).eq_map(out.mod_val(step)))
    return m


def named(m: isl.Map, sink: str, source: str) -> isl.Map:
    """The map between tuples of these names."""
    return m.set_tuple_name(D.in_, sink).set_tuple_name(D.out, source)


def populated(m: isl.Map) -> isl.Map:
    """The map without convex pieces that hold no points.

    Of such a piece isl follows a null pointer where it coalesces it with others
    (``isl_set_wrap_facet``), which ends the process.
    """
    pieces = m.get_basic_maps()
    others = [isl.Map.from_basic_map(p) for p in pieces if not p.is_empty()]
    if len(others) == len(pieces):
        return m
    return reduce(isl.Map.union, others, isl.Map.empty(m.space))


def union(maps: Sequence[isl.Map]) -> isl.Map:
    """The union of at least one map (or set), all in one space."""
    total = maps[0]
    for m in maps[1:]:
        total = total.union(m)
    return total.coalesce()


def through(first: isl.Map, order: isl.Map, last: isl.Map) -> isl.Map:
    """`first`, then `order`, then `last`; of many pieces as few as can be made at little cost.

    An order of vectors has a piece for each coordinate, so there are up to as many as the product
    of all pieces: often hundreds, of which a tenth is left. To coalesce compares all pairs, and
    those of one piece of `first` are most alike: they come first.
    """
    whole = first.apply_range(order).apply_range(last)
    if whole.n_basic_map() <= EFFORT.composed_pieces:
        return whole
    parts = map(isl.Map.from_basic_map, first.get_basic_maps())
    return reduce(isl.Map.union, (p.apply_range(order).apply_range(last).coalesce() for p in parts))


def latest(times: isl.Map) -> isl.Map:
    """Each point at the lexicographically greatest of its images.

    isl compares each piece with all that it has of those before, which fall apart meanwhile. Of
    many, halves come first: of 61 reads of one value that takes 0.6 s instead of 9.
    """
    if times.n_basic_map() > EFFORT.compared_pieces:
        pieces = [isl.Map.from_basic_map(b) for b in times.get_basic_maps()]
        middle = len(pieces) // 2
        halves = pieces[:middle], pieces[middle:]
        times = union([latest(reduce(isl.Map.union, half)) for half in halves])
    try:
        return times.lexmax()
    except isl.Error:
        # isl's lexmax fails on some divisions: subtract the images that a greater one exceeds.
        order = isl.Map.lex_gt(times.get_space().range())
        return times.subtract(times.apply_range(order))
