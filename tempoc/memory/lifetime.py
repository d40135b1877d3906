"""Live ranges of tensors under the frozen schedule, in terms of statements.

A thin layer over ``poly/scheduling/liveness.py``: reads and writes of statements become uses,
outputs become what is kept after the last statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.poly.scheduling.liveness import CellDeath, Liveness, Stored, TensorUse
from tempoc.poly.scheduling.timeline import Timeline
from tempoc.schedule.compute import Scheduled
from tempoc.sdg.graph.graph import Output
from tempoc.sdg.statements.statements import Read, Statement, Statements, Tensor, Write
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import TRUE, Entry, Expr, Slice

Entries = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Answers about the tensors of a scheduled program. ``kept``: what outputs read, by tensor.

    How many slots a tensor needs follows from a run whose lengths are known (``liveness``). What
    is dead when must be so whatever the lengths are, so that follows from all that may happen
    (``timeline``).
    """

    statements: Statements
    timeline: Timeline
    kept: Mapping[str, tuple[Entries, ...]]
    liveness: Liveness

    def windows(self, tensor: str, order: tuple[str, ...]) -> dict[str, Expr]:
        """Slots needed along each dimension, taken in this order."""
        dims = self.statements.tensors[tensor].domain.dims
        return dict(zip(dims, self.liveness.windows(tensor, order), strict=True))

    def deaths(self, tensor: str, keys: tuple[str, ...]) -> tuple[CellDeath, ...]:
        """When whole arrays die, of which the tensor has one for each point of ``keys``.

        The other dimensions are forgotten: an array lives as long as anything in it, and as long as
        a kernel is given it to write into, also where that kernel then writes nothing.
        """
        tensor_info = self.statements.tensors[tensor]
        where = tuple(tensor_info.domain.dims.index(d) for d in keys)
        domain = self.timeline.space.project(tensor_info.domain, keys)
        arrays = stored_tensor(
            tensor_info, self.statements, self.kept.get(tensor, ()), domain, where
        )
        arrays = replace(arrays, writes=tuple(replace(w, where=TRUE) for w in arrays.writes))
        return Liveness(self.timeline, {tensor: arrays}).releases(tensor)

    def dies_after(self, statement: Statement, tensor: str) -> bool:
        """Whether every cell of the tensor that the statement reads is always dead afterwards."""
        reads = [r for r in statement.reads if r.tensor == tensor]
        return bool(reads) and all(
            not any(isinstance(e, Slice) for e in r.entries)
            and self.liveness.last_use(tensor, statement.name, r.entries) == TRUE
            for r in reads
        )


def lifetimes(statements: Statements, scheduled: Scheduled, outputs: Sequence[Output]) -> Lifetimes:
    """Live ranges of all tensors that statements write."""
    output_reads: dict[str, tuple[Entries, ...]] = {}
    names = {(t.node, t.out): t.name for t in statements.tensors.values()}
    for output in outputs:
        name = names[output.source, output.out]
        output_reads[name] = (*output_reads.get(name, ()), output.entries)
    tensors = {}
    for t in statements.tensors.values():
        everywhere = tuple(range(len(t.domain.dims)))
        tensors[t.name] = stored_tensor(
            t, statements, output_reads.get(t.name, ()), t.domain, everywhere
        )
    liveness = Liveness(scheduled.lasting, tensors)
    return Lifetimes(statements, scheduled.timeline, output_reads, liveness)


def stored_tensor(
    tensor: Tensor,
    statements: Statements,
    output_reads: tuple[Entries, ...],
    domain: Domain,
    where: tuple[int, ...],
) -> Stored:
    """A tensor as liveness sees it, with only the dimensions at the positions ``where``."""

    def chosen(access: Read | Write) -> Entries:
        return tuple(access.entries[i] for i in where)

    return Stored(
        domain=domain,
        writes=tuple(
            TensorUse(task=s.name, entries=chosen(w), where=w.where)
            for s, w in statements.writers(tensor.name)
        ),
        reads=tuple(
            TensorUse(task=s.name, entries=chosen(r), late=r.forwarded)
            for s, r in statements.readers(tensor.name)
        ),
        kept=tuple(tuple(entries[i] for i in where) for entries in output_reads),
    )
