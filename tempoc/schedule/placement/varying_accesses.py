"""Indices of accesses that vary with a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.schedule.tree import Execute, LoopPlace, ScheduleTree, loops, walk
from tempoc.sdg.statements.statements import Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import substitute_entry
from tempoc.symbolic.walk import symbols


def moving_accesses(
    tree: ScheduleTree, statements: Statements
) -> Iterator[tuple[tuple[str, str], LoopPlace]]:
    """Tensor and dimension of every access whose index varies with a loop, and the loop's place."""
    for loop in loops(tree):
        for tensor, dim, moves in accesses_of(loop.body, statements, (loop.var,), places=()):
            if moves:
                yield (tensor, dim), loop.place


def device_varying_dims(tree: ScheduleTree, statements: Statements) -> Mapping[str, frozenset[str]]:
    """For each tensor the dimensions whose index varies with a loop on the device.

    Such a dimension must be an axis of an array, since traced code cannot select among arrays.
    """
    dims_by_tensor: dict[str, set[str]] = {}
    for tensor, dim, moves in accesses_of(tree, statements, ()):
        if moves:
            dims_by_tensor.setdefault(tensor, set()).add(dim)
    return {tensor: frozenset(dims) for tensor, dims in dims_by_tensor.items()}


def accesses_of(
    tree: ScheduleTree,
    statements: Statements,
    variables: tuple[str, ...],
    places: tuple[LoopPlace, ...] = ("device",),
) -> Iterator[tuple[str, str, bool]]:
    """Tensor and dimension of every access, and whether the index varies.

    It varies if it depends on one of ``variables``, or on a loop at one of these places.
    """
    for execute, around in walk(tree):
        if not isinstance(execute, Execute):
            continue
        moving_with = (*variables, *(loop.var for loop in around if loop.place in places))
        statement = statements.by_name[execute.statement]
        at = statement.domain.at(execute.point)
        accesses = [(r.tensor, r.entries) for r in statement.reads]
        accesses += [(w.tensor, w.entries) for w in statement.writes]
        for tensor, entries in accesses:
            dims = statements.tensors[tensor].domain.dims
            for dim, entry in zip(dims, entries, strict=True):
                yield tensor, dim, _varies(entry, at, moving_with)


def _varies(entry: ix.Entry, at: Mapping[str, ix.Expr], variables: tuple[str, ...]) -> bool:
    entry_at = substitute_entry(entry, dict(at))
    ends = (entry_at.lo, entry_at.hi) if isinstance(entry_at, ix.Slice) else (entry_at,)
    return any(v in symbols(e) for e in ends for v in variables)
