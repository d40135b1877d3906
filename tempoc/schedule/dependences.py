"""What must come before what: reads after the writes of what they read, calls in order."""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.poly.scheduling import Flow
from tempoc.sdg.statements import Statement, Statements
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.expr import ZERO, Slice, Sym


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
    found |= dict.fromkeys(orders(statements, universe))
    return tuple(found)


def orders(statements: Statements, universe: Universe) -> Iterator[Flow]:
    """Who takes turns: each after all earlier points, as if it read what these write."""
    for later in statements.statements:
        for earlier in statements.statements:
            if later.turn is None or earlier.turn is None:
                continue
            if earlier.turn.queue == later.turn.queue:
                first = earlier.turn.number < later.turn.number
                yield from _order(later, earlier, first, universe)


def _order(later: Statement, earlier: Statement, first: bool, universe: Universe) -> Iterator[Flow]:
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
