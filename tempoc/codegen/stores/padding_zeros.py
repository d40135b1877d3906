"""Whether the padding of a ragged slice is known to be zeros.

A slice of varying length is read at its largest length; the elements beyond its end are
unspecified, which consumers mask, since zero times NaN is NaN. The padding of ``k[0:t+1]`` is
zeros if ``k`` is written row by row in rising ``t`` into a block that starts as zeros, so that no
later row has been written yet; likewise that of ``l[i, 0:j]``, if all of ``l`` is written column
by column. A contraction then masks only the other operand (the weights), not the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tempoc.codegen.stores.context import Stages
from tempoc.poly.relations.space import Space
from tempoc.program.nodes.buffers import Buffer
from tempoc.schedule.tree import Execute, ScheduleTree, TreeLoop, walk
from tempoc.sdg.statements.statements import Read, Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


def has_zero_padding(
    read: Read, statement: Statement, stages: Stages, turned: bool = False
) -> bool:
    """Whether the rows beyond the slice's end hold zeros when the statement reads them.

    ``turned``: the operand is a ring that is read in storage order. Such a ring is either full, so
    that there is no padding, or not yet wrapped around, so that it is like a block.
    """
    store = stages.buffers[read.tensor]
    is_given = stages.statements.tensors[read.tensor].is_given
    if is_given or not _starts_empty(store, turned):
        return False
    entries = stages.entries(read)
    growing = [d for d, e in entries.items() if _is_growing(e, d)]
    if len(growing) != 1 or growing[0] not in [a.dim for a in store.axes]:
        return False
    (dim,) = growing
    own = isinstance(e := entries[dim], ix.Slice) and e.hi != ix.Sym(dim)
    if read.forwarded and not own:
        return False
    vector = stages.graph.nodes[statement.members[0]].vector
    own_runs = _runs(stages.tree, statement, dim, vector)
    if own_runs is None:
        return False
    others = [d for d in entries if d != dim and d not in _columns(store, own_runs)]
    if any(entries[d] != ix.Sym(d) for d in others):
        return False
    for writer, write in stages.statements.writers(read.tensor):
        mapped = vector if writer == statement else ()
        runs = _runs(stages.tree, writer, dim, mapped)
        at = stages.entries(write)
        if _is_behind(at[dim], writer, dim, statement, stages.space):
            continue
        if runs is None or any(at[d] != ix.Sym(d) for d in (dim, *others)):
            return False
        if not all(_is_later(y, x, own, stages.space) for x in own_runs for y in runs):
            return False
    return True


def _is_growing(entry: ix.Entry, dim: str) -> bool:
    """Whether a slice has all rows before that of the step, or these and its own."""
    ends = ix.Sym(dim), ix.add(ix.Sym(dim), ix.ONE)
    return isinstance(entry, ix.Slice) and entry.hi in ends and entry.step == 1


def _columns(store: Buffer, runs: Iterable[_Run]) -> set[str]:
    """The axes of a store of which all points are written in one step, whatever is read of them.

    No loop is around that over the columns, so that at a step no later column has been written.
    """
    outermost = all(run.loop is None or run.outermost for run in runs)
    return {a.dim for a in store.axes} if outermost and len(store.axes) > 1 else set()


def _starts_empty(store: Buffer, turned: bool) -> bool:
    """Whether each row of a store is zeros until its first write, with no other row in its slot."""
    if not store.axes or any(k.modulo is not None for k in store.keys):
        return False
    return (turned and len(store.axes) == 1) or not any(a.ring for a in store.axes)


def _is_behind(
    at: ix.Entry, writer: Statement, dim: str, statement: Statement, space: Space
) -> bool:
    """Whether all rows that are written lie before every point of the statement."""
    last = ix.sub(at.hi, ix.ONE) if isinstance(at, ix.Slice) else at
    first = space.lower_bound(ix.Sym(dim), statement.domain)
    return space.implies(
        Domain(()), ix.compare("<=", space.upper_bound(last, writer.domain), first)
    )


# ---------------------------------------------------------------- order of execution


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One execution of a statement in the tree, with the loop over one of its dimensions.

    ``loop`` is ``None`` if it runs at a single index; ``lower`` and ``upper`` delimit the indices,
    ``order`` is its position in the tree. ``outermost``: no other loop is around it.
    """

    order: int
    outermost: bool
    loop: TreeLoop | None
    lower: ix.Expr
    upper: ix.Expr


def _runs(
    tree: ScheduleTree, statement: Statement, dim: str, vector: tuple[str, ...]
) -> list[_Run] | None:
    """The executions of a statement; ``None`` if one has no rising loop over the dimension.

    ``vector``: the vectorized dimensions, which are in the statement's domain but not in its point.
    """
    dims = [d for d in statement.domain.dims if d not in vector]
    if dim not in dims:
        return None
    runs = []
    for order, (execute, loops) in enumerate(walk(tree)):
        if isinstance(execute, Execute) and execute.statement == statement.name:
            at = execute.point[dims.index(dim)]
            loop = next((x for x in loops if at == ix.Sym(x.var) and x.step > 0), None)
            outer = next(iter(loops), None)
            if not all(isinstance(e, ix.Sym | ix.Const) for e in execute.point):
                return None
            if loop is not None:
                runs.append(
                    _Run(
                        order=order, outermost=loop is outer, loop=loop, lower=loop.lower,
                        upper=loop.upper,
                    )
                )  # fmt: skip
            elif isinstance(at, ix.Const):
                end = ix.add(at, ix.ONE)
                runs.append(_Run(order=order, outermost=not loops, loop=None, lower=at, upper=end))
            else:
                return None
    return runs


def _is_later(run: _Run, other: _Run, own: bool, space: Space) -> bool:
    """Whether ``run`` is after ``other`` in time wherever it is later along the dimension.

    ``run`` writes rows, ``other`` reads all rows before its own, and that as well if ``own``; else
    ``run`` must be after it as well where both are at one row.
    """
    same_loop = run.loop is not None and run.loop is other.loop
    if run.order > other.order or (same_loop and (own or run.order == other.order)):
        return True
    ends = run.upper, ix.add(other.lower, ix.ONE) if own else other.lower
    known = not any(space.universe.is_dim(n) for e in ends for n in symbols(e))
    return known and space.implies(Domain(()), ix.compare("<=", *ends))


def ends_vary(read: Read, dims: Iterable[str], gathered: bool) -> bool:
    """Whether points that differ in some of the dimensions read slices with different ends.

    For a gathered slice only if all slices start at one position: else each point has its own rows.
    """
    starts = [s for e in read.entries for s in symbols(e.lo if isinstance(e, ix.Slice) else e)]
    moving = [s for e in read.entries for s in symbols(e)]
    apart = gathered and any(d in starts for d in dims)
    return not apart and any(d in moving for d in dims)
