"""Which of the cells that a kernel updates exist: a next step may lie beyond the last one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tempoc.codegen.stores.context import KernelArgument, KernelCell, KernelResult, Stages
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic import expr as ix


def only_existing(
    arguments: Iterable[KernelArgument],
    results: Iterable[KernelResult],
    statement: Statement,
    stages: Stages,
) -> tuple[tuple[KernelArgument, ...], tuple[KernelResult, ...]]:
    """The arguments and results of a kernel, those of arrays under the condition that they exist.

    What is not written at all is a whole array that the kernel returns as it was: without the
    condition the runner would keep one for a step that there is not.
    """
    written = {r.cell: _existence(r.cell, statement, stages) for r in results}
    given = tuple(
        replace(a, when=ix.conjunction(a.when, written.get(a.cell, ix.TRUE))) for a in arguments
    )
    return given, tuple(replace(r, where=ix.conjunction(r.where, written[r.cell])) for r in results)


def _existence(cell: KernelCell, statement: Statement, stages: Stages) -> ix.Expr:
    """The condition under which an array exists; true where that is proved.

    Arrays without axes are written as a whole, under the condition of that. What goes to a
    function of the host is in no store.
    """
    tensor, key = cell
    buffer, universe = stages.buffers.get(tensor), stages.graph.universe
    if buffer is None or not buffer.axes:
        return ix.TRUE
    whole = [(k.dim, e) for k, e in zip(buffer.keys, key, strict=True) if k.modulo is None]
    inside = (
        c
        for dim, e in whole
        for c in (ix.compare(">=", e, ix.ZERO), ix.compare("<", e, ix.Sym(universe.dim(dim).bound)))
    )
    return ix.conjunction(*(c for c in inside if not stages.proves(statement, c)))
