"""Live ranges of tensors under the frozen schedule, in terms of statements.

A thin layer over ``poly/scheduling/liveness.py``: reads and writes of statements become uses,
reads of outputs become uses after the last statement.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.poly.scheduling.liveness import CellDeath, Liveness, StoredTensor, TensorUse
from tempoc.poly.scheduling.timeline import Timeline
from tempoc.schedule.compute import Scheduled
from tempoc.sdg.graph.graph import Output
from tempoc.sdg.statements.statements import Read, Statement, Statements, Tensor, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

Entries = tuple[ix.Entry, ...]


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Live ranges of the tensors of a scheduled program.

    ``output_reads`` has the entries that outputs read, by tensor. The slots of a tensor are counted
    for runs whose lengths are known (``liveness``); deaths must hold for every length, so they are
    computed from all steps that may run (``timeline``).
    """

    statements: Statements
    timeline: Timeline
    output_reads: Mapping[str, tuple[Entries, ...]]
    liveness: Liveness

    def windows(self, tensor: str, order: tuple[str, ...]) -> dict[str, ix.Expr]:
        """Slots needed along each dimension, taken in this order."""
        dims = self.statements.tensors[tensor].domain.dims
        return dict(zip(dims, self.liveness.windows(tensor, order), strict=True))

    def deaths(
        self, tensor: str, keys: tuple[str, ...], after: Collection[str] = frozenset()
    ) -> tuple[CellDeath, ...]:
        """The deaths of whole arrays; the tensor has one array for each point of ``keys``.

        Those at the statements ``after``, which come after all others, are left out.

        The other dimensions are projected out: an array lives as long as any of its cells, and as
        long as it is passed to a kernel that may write it, even if that kernel then writes nothing.
        """
        tensor_info = self.statements.tensors[tensor]
        where = tuple(tensor_info.domain.dims.index(d) for d in keys)
        domain = self.timeline.space.project(tensor_info.domain, keys)
        arrays = stored_tensor(
            tensor_info, self.statements, self.output_reads.get(tensor, ()), domain, where
        )
        arrays = replace(arrays, writes=tuple(replace(w, where=ix.TRUE) for w in arrays.writes))
        return Liveness(self.timeline, {tensor: arrays}).releases(tensor, after)

    def dies_after(self, statement: Statement, tensor: str) -> bool:
        """Whether every cell of the tensor that the statement reads is always dead afterwards."""
        reads = [r for r in statement.reads if r.tensor == tensor]
        return bool(reads) and all(
            not any(isinstance(e, ix.Slice) for e in r.entries)
            and self.liveness.is_last_use(tensor, statement.name, r.entries)
            for r in reads
        )


def lifetimes(statements: Statements, scheduled: Scheduled, outputs: Sequence[Output]) -> Lifetimes:
    """Live ranges of all tensors that statements write."""
    output_reads: dict[str, tuple[Entries, ...]] = {}
    universe = scheduled.timeline.space.universe
    outer = frozenset(d for b in universe.ended for d in b.outer)
    names = {(t.node, t.out): t.name for t in statements.tensors.values()}
    for output in outputs:
        name = names[output.source, output.out]
        output_reads[name] = (*output_reads.get(name, ()), output.entries)
    tensors = {}
    for t in statements.tensors.values():
        everywhere = tuple(range(len(t.domain.dims)))
        stored = stored_tensor(t, statements, output_reads.get(t.name, ()), t.domain, everywhere)
        near = all(_is_at_its_cell(use, stored, scheduled.timeline, outer) for use in stored.uses)
        settled = not outer or (near and not stored.outputs)
        tensors[t.name] = replace(stored, outer=outer if settled else None)
    liveness = Liveness(scheduled.lasting, tensors, scheduled.timeline if outer else None)
    return Lifetimes(statements, scheduled.timeline, output_reads, liveness)


def _is_at_its_cell(
    use: TensorUse, stored: StoredTensor, timeline: Timeline, outer: frozenset[str]
) -> bool:
    """Whether a use is at points with the coordinates along ``outer`` of the cell that it takes."""
    entries = stored.domain.at(use.entries)
    points = timeline.tasks[use.task].dims
    return all(d in points and entries.get(d) == ix.Sym(d) for d in outer)


def stored_tensor(
    tensor: Tensor,
    statements: Statements,
    output_reads: tuple[Entries, ...],
    domain: Domain,
    where: tuple[int, ...],
) -> StoredTensor:
    """The uses of a tensor for the liveness analysis, on the dimensions at positions ``where``."""

    def chosen(access: Read | Write) -> Entries:
        return tuple(access.entries[i] for i in where)

    return StoredTensor(
        domain=domain,
        writes=tuple(
            TensorUse(task=s.name, entries=chosen(w), where=w.where)
            for s, w in statements.writers(tensor.name)
        ),
        reads=tuple(
            TensorUse(task=s.name, entries=chosen(r), late=r.forwarded)
            for s, r in statements.readers(tensor.name)
        ),
        outputs=tuple(tuple(entries[i] for i in where) for entries in output_reads),
    )
