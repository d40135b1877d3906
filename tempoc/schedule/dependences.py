"""What must come before what: every read of a tensor after the writes of what it reads."""

from __future__ import annotations

from tempoc.poly.scheduling import Flow
from tempoc.sdg.statements import Statements


def flows(statements: Statements) -> tuple[Flow, ...]:
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
    return tuple(found)
