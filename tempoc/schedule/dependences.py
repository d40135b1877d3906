"""What must come before what: reads after the writes of what they read, and turns in order."""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.poly.relations.run_lengths import Waits, may_wait
from tempoc.poly.scheduling.problem import Flow
from tempoc.sdg.graph.effect_order import Before, befores
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.expr import ZERO, Slice, Sym
from tempoc.symbolic.walk import symbols


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
                        written=tuple(Sym(d) for d in stop.domain.dims),
                        waits=found,
                    )


def waiting(s: Statement, bound: str, universe: Universe) -> Waits | None:
    """What a statement does that may depend on the length of a bound, if anything."""
    at_once = tuple(v.dim for v in s.vector)
    # What differs from point to point is said of single points only.
    if any(d in symbols(e) for e in s.mentions for d in at_once) and s.single is not None:
        s = s.single
    else:
        at_once = ()
    reads = tuple(dict.fromkeys(r.entries for r in s.reads))
    found = Waits(bound=bound, domain=s.domain, reads=reads, mentions=s.mentions, together=at_once)
    # What may run at any time still must know where it is, if a length tells.
    told = any(universe.roots(name) for name in symbols(s.domain.where))
    return None if (s.is_free and not told) or not may_wait(universe, found) else found


def turns(statements: Statements, universe: Universe) -> Iterator[Flow]:
    """Who takes turns: each after all that come before it, as if it read what these write."""
    queued = [(s, s.turn) for s in statements.statements if s.turn is not None]
    for later, mine in queued:
        for earlier, other in queued:
            if mine.queue == other.queue:
                first = other.number < mine.number
                dims = later.domain.dims, earlier.domain.dims
                for before in befores(*dims, first, universe):
                    yield _flow(later, earlier, before)


def _flow(later: Statement, earlier: Statement, before: Before) -> Flow:
    """As if the earlier one wrote the first indices of its point, for the later one."""
    here = tuple(Sym(d) for d in before.shared)
    return Flow(
        reader=later.name,
        writer=earlier.name,
        tensor=Domain(before.shared),
        read=(*here[:-1], Slice(ZERO, here[-1])) if before.less else here,
        written=here,
    )
