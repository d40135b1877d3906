"""Stores that grow with the sequence: causal reads (`k[0:t+1]`) without room for what is to come.

A loop over ``t`` that reads ``k[0:t+1]`` at each step needs ``t+1`` rows of ``k``, not ``T``. An
axis *grows* if in such a loop nothing is read or written further than a few rows ahead of the
step. How many rows there are is decided during the run, in a few buckets; kernels take it from the
array. What they may rely on is a ``CapacityUse``, one for each statement: so many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.memory.estimates import is_small
from tempoc.memory.plan_types import Buffer, BufferAxis, CapacityUse
from tempoc.poly.relations.space import Space
from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeLoop, executed
from tempoc.schedule.tree import TreeSequence as TreeSequence
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic.expr import Const, Entry, Expr, Slice, Sym, compare, sub
from tempoc.symbolic.walk import substitute, symbols


def growing_dims(
    tree: ScheduleTree, statements: Statements, space: Space
) -> Mapping[str, frozenset[str]]:
    """For each tensor the dimensions along which a store of it had better grow."""
    dims_of: dict[str, set[str]] = {}
    for loop in _rising_loops(tree):
        for tensor, dim in _growth_candidates(loop, statements, space):
            dims_of.setdefault(tensor, set()).add(dim)
    return {tensor: frozenset(dims) for tensor, dims in dims_of.items()}


def _rising_loops(tree: ScheduleTree) -> Iterator[TreeLoop]:
    """Rising loops between whose steps the host may do something."""
    match tree:
        case TreeSequence(items=items):
            for item in items:
                yield from _rising_loops(item)
        case TreeGuard(body=body):
            yield from _rising_loops(body)
        case TreeLoop(body=body):
            if tree.step == 1:
                yield tree
            if tree.place == "host":
                yield from _rising_loops(body)
        case Execute():
            pass


def _growth_candidates(
    loop: TreeLoop, statements: Statements, space: Space
) -> Iterator[tuple[str, str]]:
    """Tensors and dimensions of which the loop reads all up to its step, and nothing behind."""
    by_name = {s.name: s for s in statements.statements}
    followed: dict[tuple[str, str], None] = {}
    spoiled: dict[tuple[str, str], None] = {}
    for execute in executed(loop.body):
        s = by_name[execute.statement]
        at = dict(zip(s.domain.dims, execute.point, strict=True))
        for tensor, dim, entry, is_read in _accesses(s, statements):
            rows = substitute(rows_needed(entry), at)
            if isinstance(sub(rows, Sym(loop.var)), Const):
                if is_read and isinstance(entry, Slice) and _is_long(entry, dim, s, space):
                    followed[tensor, dim] = None
            elif loop.var in symbols(rows) or _may_cover_bound(rows_needed(entry), dim, s, space):
                spoiled[tensor, dim] = None
    return (key for key in followed if key not in spoiled)


def _may_cover_bound(rows: Expr, dim: str, s: Statement, space: Space) -> bool:
    """Whether so many rows may be all, or nobody knows."""
    most = space.upper_bound(rows, s.domain)
    unknown = any(space.universe.is_dim(n) for n in symbols(most))
    return unknown or most == Sym(space.universe.dim(dim).bound)


def _is_long(entry: Slice, dim: str, s: Statement, space: Space) -> bool:
    """Whether a slice has as many rows as there are steps, and not just a few."""
    most = space.upper_bound(sub(entry.hi, entry.lo), s.domain)
    return not is_small(most, space.universe.dim(dim).bound, space.universe)


def _accesses(s: Statement, statements: Statements) -> Iterator[tuple[str, str, Entry, bool]]:
    """All accesses of computed tensors, one dimension at a time; whether they are reads."""
    reads = [(r.tensor, r.entries, True) for r in s.reads]
    for tensor, entries, is_read in [*reads, *((w.tensor, w.entries, False) for w in s.writes)]:
        stored_tensor = statements.tensors[tensor]
        if stored_tensor.origin == "computed":
            for dim, entry in zip(stored_tensor.domain.dims, entries, strict=True):
                yield tensor, dim, entry, is_read


def rows_needed(entry: Entry) -> Expr:
    """How many rows there must be for an entry."""
    return entry.hi if isinstance(entry, Slice) else entry + 1


# ---------------------------------------------------------------- what statements need


def capacity_uses(
    stores: Mapping[str, Buffer], statements: Statements, space: Space
) -> dict[str, tuple[CapacityUse, ...]]:
    """How many rows of growing stores each statement touches."""
    uses = {}
    for s in statements.statements:
        collector = _CapacityCollector(s, space)
        for tensor, dim, entry, _ in _accesses(s, statements):
            for axis in stores[tensor].axes:
                if axis.dim == dim and axis.grows:
                    collector.add(axis, rows_needed(entry))
        if collector.rows:
            uses[s.name] = collector.all()
    return uses


class _CapacityCollector:
    """The needs of one statement while they are collected."""

    def __init__(self, statement: Statement, space: Space) -> None:
        self.domain = statement.domain
        self.space = space
        self.rows: dict[tuple[str, Expr], list[Expr]] = {}

    def add(self, axis: BufferAxis, rows: Expr) -> None:
        """Another access; one that others exceed is left out."""
        known = self.rows.setdefault((axis.dim, axis.size), [])
        if not any(self.exceeds(k, rows) for k in known):
            known[:] = [k for k in known if not self.exceeds(rows, k)] + [rows]

    def exceeds(self, a: Expr, b: Expr) -> bool:
        return self.space.implies(self.domain, compare(">=", a, b))

    def all(self) -> tuple[CapacityUse, ...]:
        return tuple(
            CapacityUse(
                dim=dim,
                size=size,
                rows=tuple(rows),
                sure=tuple(e for e in rows if self.exceeds(size, e)),
            )
            for (dim, size), rows in self.rows.items()
        )
