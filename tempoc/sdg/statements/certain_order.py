"""Which statements have an order for certain: loops that anybody would see in the equations.

In a strongly connected component of the flows, a dimension along which nobody reads what is written
at a later step is a loop. It settles all reads of earlier steps (Allen and Kennedy 1987); what is
left is looked at inside. Distances are read off the expressions, without isl: a proof that takes
microseconds where it succeeds. Where it does not, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tempoc.poly.scheduling import cycles
from tempoc.sdg.graph.effect_order import befores
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import ZERO, Entry, Expr, IndexMax, IndexMin, Slice, Sym, interval, sub


@dataclass(frozen=True, slots=True)
class _Need:
    """A reader needs what a writer writes at some of the writer's points."""

    reader: Statement
    writer: Statement
    read: tuple[Entry, ...]
    written: tuple[Entry, ...]


def doubtful(statements: Statements, universe: Universe) -> tuple[tuple[str, ...], ...]:
    """The components for which no order is evident; each has one or has none."""
    needs = [*_reads(statements), *_turns(statements, universe), *_endings(statements)]
    names = tuple(s.name for s in statements.statements)
    dims = {s.name: s.domain.dims for s in statements.statements}
    return tuple(_doubtful(names, needs, dims, ()))


def _doubtful(
    names: Sequence[str],
    needs: Sequence[_Need],
    dims: dict[str, tuple[str, ...]],
    done: tuple[str, ...],
) -> Iterator[tuple[str, ...]]:
    after: dict[str, list[str]] = {name: [] for name in names}
    for need in needs:
        after[need.writer.name].append(need.reader.name)
    components = cycles.components(names, after)
    home = {name: k for k, members in enumerate(components) for name in members}
    within: dict[int, list[_Need]] = {}
    for need in needs:
        if home[need.reader.name] == home[need.writer.name]:
            within.setdefault(home[need.reader.name], []).append(need)
    for k, inside in within.items():
        members = components[k]
        for dim in dims[members[0]]:
            if dim in done or not all(dim in dims[m] for m in members):
                continue
            left = _left(inside, dim)
            if left is not None and not any(_doubtful(members, left, dims, (*done, dim))):
                break
        else:
            yield members


def _left(needs: Sequence[_Need], dim: str) -> list[_Need] | None:
    """What a loop over the dimension, up or down, leaves to be settled; `None` if none is legal."""
    spans = [_distance(n, dim) for n in needs]
    if all(most is not None and most <= 0 for _, most in spans):
        return [n for n, (_, most) in zip(needs, spans, strict=True) if most == 0]
    if all(least is not None and least >= 0 for least, _ in spans):
        return [n for n, (least, _) in zip(needs, spans, strict=True) if least == 0]
    return None


def _distance(need: _Need, dim: str) -> tuple[int | None, int | None]:
    """How many steps after the reader the writer is, at least and at most; `None` if unknown."""
    here = Sym(dim)
    for read, written in zip(need.read, need.written, strict=True):
        if isinstance(written, Slice):
            continue
        by, limit = interval(sub(written, here))
        if by is None or by != limit:
            continue
        least, most = _span(read, here)
        return least if least is None else least - by, most if most is None else most - by
    return None, None


def _span(entry: Entry, here: Sym) -> tuple[int | None, int | None]:
    """What an entry is at least and at most, from here."""
    if isinstance(entry, Slice):
        most = _span(entry.hi, here)[1]
        return _span(entry.lo, here)[0], None if most is None else most - 1
    return _least(entry, here), _most(entry, here)


def _most(e: Expr, here: Sym) -> int | None:
    if isinstance(e, IndexMin | IndexMax):
        ends = [_most(a, here) for a in e.args]
        known = [end for end in ends if end is not None]
        if isinstance(e, IndexMax):
            return max(known) if len(known) == len(ends) else None
        return min(known, default=None)
    return interval(sub(e, here))[1]


def _least(e: Expr, here: Sym) -> int | None:
    if isinstance(e, IndexMin | IndexMax):
        ends = [_least(a, here) for a in e.args]
        known = [end for end in ends if end is not None]
        if isinstance(e, IndexMin):
            return min(known) if len(known) == len(ends) else None
        return max(known, default=None)
    return interval(sub(e, here))[0]


def _reads(statements: Statements) -> Iterator[_Need]:
    for reader in statements.statements:
        for read in reader.reads:
            for writer, write in statements.writers(read.tensor):
                if not (read.forwarded and writer is reader):
                    yield _Need(reader, writer, read.entries, write.entries)


def _turns(statements: Statements, universe: Universe) -> Iterator[_Need]:
    queued = [(s, s.turn) for s in statements.statements if s.turn is not None]
    for later, mine in queued:
        for earlier, other in queued:
            if mine.queue != other.queue:
                continue
            first = other.number < mine.number
            for before in befores(later.domain.dims, earlier.domain.dims, first, universe):
                here = tuple(Sym(d) for d in before.shared)
                read: tuple[Entry, ...] = here
                if before.less:
                    read = (*here[:-1], Slice(ZERO, here[-1]))
                yield _Need(later, earlier, read, here)


def _endings(statements: Statements) -> Iterator[_Need]:
    """Whoever may have to know the end of a bound: it is not said here when."""
    for stop in statements.statements:
        for s in statements.statements if stop.ends else ():
            if not s.is_free:
                yield _Need(s, stop, (), ())
