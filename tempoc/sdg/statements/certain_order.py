"""A fast sufficient test that statements can be scheduled, by dependence distances.

Allen and Kennedy's loop distribution (1987): in a strongly connected component, a dimension along
which no read refers to a later step can be the outer loop. It satisfies all dependences on earlier
steps; the remaining ones are tested within it. A statement that lacks the dimension takes part at
its derived coordinate (update ``k`` in iteration ``k // 16``). Distances are intervals read off the
expressions, without isl: the proof takes microseconds. Where it fails, a schedule may exist
nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.graphs import edges_in_cycles
from tempoc.sdg.graph.effect_order import preceding_points
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.coordinates import coordinates
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import symbols

DistanceRange = tuple[int | None, int | None]
"""The least and the largest value; `None`: unknown."""


@dataclass(frozen=True, slots=True)
class _EntryDependence:
    """A dependence of a reader on a writer, by the entries of the read and of the write."""

    reader: Statement
    writer: Statement
    read: tuple[ix.Entry, ...]
    written: tuple[ix.Entry, ...]


def unproved_components(statements: Statements, universe: Universe) -> tuple[tuple[str, ...], ...]:
    """The strongly connected components whose schedulability is not proved."""
    needs = [
        *_flow_dependences(statements),
        *_effect_dependences(statements, universe),
        *_length_dependences(statements, universe),
    ]
    names = tuple(s.name for s in statements.statements)
    places = {s.name: coordinates(universe, s.domain.dims) for s in statements.statements}
    return tuple(_unproved_components(names, needs, places, ()))


def _unproved_components(
    names: Sequence[str],
    needs: Sequence[_EntryDependence],
    places: Mapping[str, Mapping[str, ix.Expr]],
    done: tuple[str, ...],
) -> Iterator[tuple[str, ...]]:
    for members, dependences in edges_in_cycles(
        names, needs, lambda need: (need.reader.name, need.writer.name)
    ):
        for dim in places[members[0]]:
            if dim in done or not all(dim in places[m] for m in members):
                continue
            remaining = _unsatisfied(dependences, {m: places[m][dim] for m in members})
            if remaining is not None and not any(
                _unproved_components(members, remaining, places, (*done, dim))
            ):
                break
        else:
            yield members


def _unsatisfied(
    needs: Sequence[_EntryDependence], place: Mapping[str, ix.Expr]
) -> list[_EntryDependence] | None:
    """The dependences that a loop, up or down, does not satisfy in which statements run at these
    coordinates; `None` if neither direction is legal."""
    spans = [_distance(n, place[n.reader.name], place[n.writer.name]) for n in needs]
    if all(most is not None and most <= 0 for _, most in spans):
        return [n for n, (_, most) in zip(needs, spans, strict=True) if most == 0]
    if all(least is not None and least >= 0 for least, _ in spans):
        return [n for n, (least, _) in zip(needs, spans, strict=True) if least == 0]
    return None


def _distance(need: _EntryDependence, here: ix.Expr, there: ix.Expr) -> DistanceRange:
    """The dependence distance: bounds on the writer's coordinate `there` minus the reader's."""
    step = there.divisor if isinstance(there, ix.FloorDiv) else 1
    fine = there.arg if isinstance(there, ix.FloorDiv) else there
    for read, written in zip(need.read, need.written, strict=True):
        if isinstance(written, ix.Slice):
            continue
        by, limit = ix.interval(ix.sub(written, fine))
        if by is None or by != limit:
            continue
        if step == 1:
            least, most = entry_bounds(read, here)
            return least if least is None else least - by, most if most is None else most - by
        if isinstance(here, ix.FloorDiv) and here.divisor == step:
            # floor(d / c) <= floor((y + d) / c) - floor(y / c) <= ceil(d / c)
            least, most = entry_bounds(read, here.arg)
            low = None if least is None else (least - by) // step
            return low, None if most is None else -((by - most) // step)
        if not isinstance(read, ix.Slice):
            return ix.interval(ix.sub(ix.floordiv(ix.sub(read, ix.Const(by)), step), here))
    return None, None


def entry_bounds(entry: ix.Entry, here: ix.Expr) -> DistanceRange:
    """The least and the largest value of an entry minus the reader's coordinate ``here``."""
    if isinstance(entry, ix.Slice):
        most = entry_bounds(entry.hi, here)[1]
        return entry_bounds(entry.lo, here)[0], None if most is None else most - 1
    return _lower_bound(entry, here), _upper_bound(entry, here)


def _upper_bound(e: ix.Expr, here: ix.Expr) -> int | None:
    if isinstance(e, ix.IndexMin | ix.IndexMax):
        ends = [_upper_bound(a, here) for a in e.args]
        known = [end for end in ends if end is not None]
        if isinstance(e, ix.IndexMax):
            return max(known) if len(known) == len(ends) else None
        return min(known, default=None)
    return ix.interval(ix.sub(e, here))[1]


def _lower_bound(e: ix.Expr, here: ix.Expr) -> int | None:
    if isinstance(e, ix.IndexMin | ix.IndexMax):
        ends = [_lower_bound(a, here) for a in e.args]
        known = [end for end in ends if end is not None]
        if isinstance(e, ix.IndexMin):
            return min(known) if len(known) == len(ends) else None
        return max(known, default=None)
    return ix.interval(ix.sub(e, here))[0]


def _flow_dependences(statements: Statements) -> Iterator[_EntryDependence]:
    for reader in statements.statements:
        for read in reader.reads:
            for writer, write in statements.writers(read.tensor):
                if not (read.forwarded and writer is reader):
                    yield _EntryDependence(reader, writer, read.entries, write.entries)


def _effect_dependences(statements: Statements, universe: Universe) -> Iterator[_EntryDependence]:
    effects = [(s, s.turn) for s in statements.statements if s.turn is not None]
    for later, position in effects:
        for earlier, earlier_position in effects:
            if position.queue != earlier_position.queue:
                continue
            first = earlier_position.number < position.number
            for before in preceding_points(later.domain.dims, earlier.domain.dims, first, universe):
                prefix = tuple(ix.Sym(d) for d in before.shared)
                read: tuple[ix.Entry, ...] = prefix
                if before.less:
                    read = (*prefix[:-1], ix.Slice(ix.ZERO, prefix[-1]))
                yield _EntryDependence(later, earlier, read, prefix)


def _length_dependences(statements: Statements, universe: Universe) -> Iterator[_EntryDependence]:
    """Dependences on run-time lengths, each on the steps before an index, or of unknown distance.

    What needs no data may run before it is known whether it is needed.
    """
    for stop in statements.statements:
        written = tuple(ix.Sym(d) for d in stop.domain.dims)
        for bound in stop.ends:
            ended = [d for d in stop.domain.dims if universe.dim(d).bound == bound]
            for s in statements.statements:
                shared = all(d in ended or d in s.domain.dims for d in stop.domain.dims)
                for end in () if s.is_free else _ends_awaited(s, bound, universe):
                    if end is None or not shared:
                        yield _EntryDependence(s, stop, (), ())
                    else:
                        before = ix.Slice(ix.ZERO, end)
                        steps = tuple(before if d in ended else ix.Sym(d) for d in stop.domain.dims)
                        yield _EntryDependence(s, stop, steps, written)


def _ends_awaited(s: Statement, bound: str, universe: Universe) -> Iterator[ix.Expr | None]:
    """The indices before which no step may have ended a bound where a point exists.

    `None` if the point depends on the length of the bound in any other way.
    """

    def varies(*entries: ix.Entry) -> bool:
        names = (n for e in entries for n in symbols(e))
        return any(b.name == bound for n in names for b in universe.roots(n))

    if varies(*s.mentions, *(e for read in s.reads for e in read.entries)):
        yield None
    for dim in s.domain.dims:
        if varies(ix.Sym(universe.dim(dim).bound)):
            own = universe.dim(dim).bound == bound and not s.vector
            yield ix.Sym(dim) if own else None
    where = s.domain.where
    for condition in where.args if isinstance(where, ix.Conjunction) else (where,):
        if varies(condition):
            yield _least_length(condition, bound, varies)


def _least_length(
    condition: ix.Expr, bound: str, varies: Callable[[ix.Expr], bool]
) -> ix.Expr | None:
    """The index that a condition wants to be less than the bound; `None` if it says more."""
    if not isinstance(condition, ix.Relation) or condition.op not in ("<", "<="):
        return None
    index = ix.add(ix.sub(condition.left, condition.right), ix.Sym(bound))
    if condition.op == "<=":
        index = ix.sub(index, ix.ONE)
    return None if varies(index) else index
