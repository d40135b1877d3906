"""What must come before what: reads after the writes of what they read, effects in order."""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.poly.lengths import Waits, may_wait
from tempoc.poly.scheduling import Flow
from tempoc.sdg.build import identity
from tempoc.sdg.statements import Statement, Statements
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.expr import ZERO, Entry, Slice, Sym


def flows(statements: Statements, universe: Universe) -> tuple[Flow, ...]:
    """Each reader with each writer of the tensor it reads, each different flow once."""
    writers = {name: statements.writers(name) for name in statements.tensors}
    found: dict[Flow, None] = {}
    for reader in statements.statements:
        for read in reader.reads:
            for writer, write in writers[read.tensor]:
                flow = Flow(
                    reader=reader.name,
                    writer=writer.name,
                    tensor=statements.tensors[read.tensor].domain,
                    read=read.entries,
                    written=write.entries,
                    where=write.where,
                    forwarded=read.forwarded,
                )
                found[flow] = None
    found |= dict.fromkeys(orders(statements))
    found |= dict.fromkeys(turns(statements, universe))
    found |= dict.fromkeys(endings(statements, universe))
    return tuple(found)


def endings(statements: Statements, universe: Universe) -> Iterator[Flow]:
    """Who must know whether a run goes on: the rest of what it does depends on its length."""
    for stop in statements.statements:
        for bound in stop.ends:
            for s in statements.statements:
                found = waiting(s, bound, universe)
                if found is not None:
                    yield Flow(
                        reader=s.name,
                        writer=stop.name,
                        tensor=stop.domain,
                        read=tuple(Slice(ZERO, Sym(d)) for d in stop.domain.dims),
                        written=identity(stop.domain),
                        waits=found,
                    )


def waiting(s: Statement, bound: str, universe: Universe) -> Waits | None:
    """What a statement does that may depend on the length of a bound, if anything."""
    reads = tuple(dict.fromkeys(r.entries for r in s.reads))
    found = Waits(bound=bound, domain=s.domain, reads=reads, mentions=s.mentions)
    return None if s.is_free or not may_wait(universe, found) else found


def turns(statements: Statements, universe: Universe) -> Iterator[Flow]:
    """Who takes turns: each after all earlier points, as if it read what these write."""
    for later in statements.statements:
        for earlier in statements.statements:
            if later.turn is None or earlier.turn is None:
                continue
            if earlier.turn.queue == later.turn.queue:
                first = earlier.turn.number < later.turn.number
                yield from _turn(later, earlier, first, universe)


def _turn(later: Statement, earlier: Statement, first: bool, universe: Universe) -> Iterator[Flow]:
    """Points in lexicographic order, a point before those it begins, ``first`` at equal ones.

    What a statement has no index for counts as less than every index.
    """
    shared: tuple[str, ...] = ()

    def flow(*more: Slice) -> Flow:
        dims = tuple(Sym(d) for d in shared)
        return Flow(
            reader=later.name,
            writer=earlier.name,
            tensor=Domain(shared),
            read=(*dims[: len(dims) - len(more)], *more),
            written=dims,
        )

    for d in universe.dims:
        here, there = d.name in later.domain.dims, d.name in earlier.domain.dims
        if here and there:
            shared = (*shared, d.name)
            yield flow(Slice(ZERO, Sym(d.name)))
        elif here:
            yield flow()
            return
        elif there:
            return
    if first:
        yield flow()


def orders(statements: Statements) -> Iterator[Flow]:
    """The order in which effects are seen: each after those at earlier points, as if it read them.

    Of two statements over the same dimensions the later one waits at each point for the other.
    """
    effects = [s for s in statements.statements if s.effect]
    for k, s in enumerate(effects):
        here = identity(s.domain)
        for n, dim in enumerate(here):
            yield _order(s, s, (*here[:n], Slice(ZERO, dim)))
        for other in effects[:k]:
            if other.domain.dims == s.domain.dims:
                yield _order(s, other, here)


def _order(later: Statement, earlier: Statement, entries: tuple[Entry, ...]) -> Flow:
    """As if the earlier one wrote its point, or the first indices of it, for the later one."""
    dims = earlier.domain.dims[: len(entries)]
    return Flow(
        reader=later.name,
        writer=earlier.name,
        tensor=Domain(dims),
        read=entries,
        written=tuple(Sym(d) for d in dims),
    )
