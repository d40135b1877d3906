"""A fast sufficient test that statements can be scheduled, by dependence distances.

Allen and Kennedy's loop distribution (1987): in a strongly connected component, a dimension along
which no read refers to a later step can be the outer loop. It satisfies all dependences on earlier
steps; the remaining ones are tested within it. Distances are intervals read off the expressions,
without isl: the proof takes microseconds. Where it fails, a schedule may exist nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tempoc.base.graphs import edges_in_cycles
from tempoc.sdg.graph.effect_order import preceding_points
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import ZERO, Entry, Expr, IndexMax, IndexMin, Slice, Sym, interval, sub


@dataclass(frozen=True, slots=True)
class _Dependence:
    """A dependence of a reader on a writer, by the entries of the read and of the write."""

    reader: Statement
    writer: Statement
    read: tuple[Entry, ...]
    written: tuple[Entry, ...]


def unproved_components(statements: Statements, universe: Universe) -> tuple[tuple[str, ...], ...]:
    """The strongly connected components whose schedulability is not proved."""
    needs = [
        *_flow_dependences(statements),
        *_effect_dependences(statements, universe),
        *_length_dependences(statements),
    ]
    names = tuple(s.name for s in statements.statements)
    dims = {s.name: s.domain.dims for s in statements.statements}
    return tuple(_unproved_components(names, needs, dims, ()))


def _unproved_components(
    names: Sequence[str],
    needs: Sequence[_Dependence],
    dims: dict[str, tuple[str, ...]],
    done: tuple[str, ...],
) -> Iterator[tuple[str, ...]]:
    for members, dependences in edges_in_cycles(
        names, needs, lambda need: (need.reader.name, need.writer.name)
    ):
        for dim in dims[members[0]]:
            if dim in done or not all(dim in dims[m] for m in members):
                continue
            remaining = _unsatisfied(dependences, dim)
            if remaining is not None and not any(
                _unproved_components(members, remaining, dims, (*done, dim))
            ):
                break
        else:
            yield members


def _unsatisfied(needs: Sequence[_Dependence], dim: str) -> list[_Dependence] | None:
    """The dependences that a loop over ``dim``, up or down, does not satisfy; `None` if neither
    direction is legal."""
    spans = [_distance(n, dim) for n in needs]
    if all(most is not None and most <= 0 for _, most in spans):
        return [n for n, (_, most) in zip(needs, spans, strict=True) if most == 0]
    if all(least is not None and least >= 0 for least, _ in spans):
        return [n for n, (least, _) in zip(needs, spans, strict=True) if least == 0]
    return None


def _distance(need: _Dependence, dim: str) -> tuple[int | None, int | None]:
    """The dependence distance: bounds on the writer's step minus the reader's; `None`: unknown."""
    here = Sym(dim)
    for read, written in zip(need.read, need.written, strict=True):
        if isinstance(written, Slice):
            continue
        by, limit = interval(sub(written, here))
        if by is None or by != limit:
            continue
        least, most = _entry_bounds(read, here)
        return least if least is None else least - by, most if most is None else most - by
    return None, None


def _entry_bounds(entry: Entry, here: Sym) -> tuple[int | None, int | None]:
    """Bounds on an entry relative to the reader's index ``here``."""
    if isinstance(entry, Slice):
        most = _entry_bounds(entry.hi, here)[1]
        return _entry_bounds(entry.lo, here)[0], None if most is None else most - 1
    return _lower_bound(entry, here), _upper_bound(entry, here)


def _upper_bound(e: Expr, here: Sym) -> int | None:
    if isinstance(e, IndexMin | IndexMax):
        ends = [_upper_bound(a, here) for a in e.args]
        known = [end for end in ends if end is not None]
        if isinstance(e, IndexMax):
            return max(known) if len(known) == len(ends) else None
        return min(known, default=None)
    return interval(sub(e, here))[1]


def _lower_bound(e: Expr, here: Sym) -> int | None:
    if isinstance(e, IndexMin | IndexMax):
        ends = [_lower_bound(a, here) for a in e.args]
        known = [end for end in ends if end is not None]
        if isinstance(e, IndexMin):
            return min(known) if len(known) == len(ends) else None
        return max(known, default=None)
    return interval(sub(e, here))[0]


def _flow_dependences(statements: Statements) -> Iterator[_Dependence]:
    for reader in statements.statements:
        for read in reader.reads:
            for writer, write in statements.writers(read.tensor):
                if not (read.forwarded and writer is reader):
                    yield _Dependence(reader, writer, read.entries, write.entries)


def _effect_dependences(statements: Statements, universe: Universe) -> Iterator[_Dependence]:
    effects = [(s, s.turn) for s in statements.statements if s.turn is not None]
    for later, position in effects:
        for earlier, earlier_position in effects:
            if position.queue != earlier_position.queue:
                continue
            first = earlier_position.number < position.number
            for before in preceding_points(later.domain.dims, earlier.domain.dims, first, universe):
                prefix = tuple(Sym(d) for d in before.shared)
                read: tuple[Entry, ...] = prefix
                if before.less:
                    read = (*prefix[:-1], Slice(ZERO, prefix[-1]))
                yield _Dependence(later, earlier, read, prefix)


def _length_dependences(statements: Statements) -> Iterator[_Dependence]:
    """Dependences on run-time lengths, of unknown distance."""
    for stop in statements.statements:
        for s in statements.statements if stop.ends else ():
            if not s.is_free:
                yield _Dependence(s, stop, (), ())
