"""What lies beyond the end of a slice.

A slice whose length varies is read at its greatest length; what is too much is garbage, which
readers mask, since zero times NaN is NaN. Of ``k[0:t+1]`` it is known to be zeros if ``k`` is
written row by row as ``t`` grows, into a block that starts as zeros, and nothing later is there
yet. Then a contraction need not mask the store, only the weights it meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tempoc.codegen.stores.context import Stages
from tempoc.memory.plan_types import Buffer
from tempoc.poly.relations.space import Space
from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.sdg.statements.statements import Read, Statement, Write
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ONE, Const, Expr, Slice, Sym, add, compare, sub
from tempoc.symbolic.walk import symbols


def has_zero_padding(
    read: Read, statement: Statement, stages: Stages, turned: bool = False
) -> bool:
    """Whether rows from the slice's end on hold zeros when the statement reads them.

    A ring that is read ``turned`` is full, or as if all rows had room in it.
    """
    store = stages.plan.stores[read.tensor]
    dims = stages.statements.tensors[read.tensor].domain.dims
    if not _starts_empty(store, turned):
        return False
    dim = store.axes[0].dim
    for d, entry in zip(dims, read.entries, strict=True):
        if d == dim:
            growing = isinstance(entry, Slice) and entry.hi == add(Sym(dim), ONE)
            if not growing or (isinstance(entry, Slice) and entry.step != 1):
                return False
        elif entry != Sym(d):
            return False
    vector = stages.graph.nodes[statement.members[0]].vector
    own_runs = _runs(stages.tree, statement, dim, vector)
    if own_runs is None:
        return False
    for writer, write in stages.statements.writers(read.tensor):
        mapped = vector if writer == statement else ()
        runs = _runs(stages.tree, writer, dim, mapped)
        if _is_behind(write, writer, dims.index(dim), dim, statement, stages.space):
            continue
        at = dict(zip(dims, write.entries, strict=True))
        if runs is None or any(at[d] != Sym(d) for d in (dim, *(k.dim for k in store.keys))):
            return False
        if not all(_is_later(y, x, stages.space) for x in own_runs for y in runs):
            return False
    return True


def _starts_empty(store: Buffer, turned: bool) -> bool:
    """Whether the rows of a store are zeros until they are written, each only once at first."""
    apart = all(k.modulo is None for k in store.keys)
    if store.kind == "resident" or not apart or len(store.axes) != 1:
        return False
    return turned or not store.axes[0].ring


def _is_behind(
    write: Write, writer: Statement, place: int, dim: str, statement: Statement, space: Space
) -> bool:
    """Whether all rows that are written come no later than any at which the statement stands."""
    at = write.entries[place]
    last = sub(at.hi, ONE) if isinstance(at, Slice) else at
    first = space.lower_bound(Sym(dim), statement.domain)
    return space.implies(Domain(()), compare("<=", space.upper_bound(last, writer.domain), first))


# ---------------------------------------------------------------- what runs when


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A place in the tree at which a statement is executed, the loop over a dimension of it.

    Without a loop it is executed at a single index. ``lower`` and ``upper`` are the ends.
    """

    order: int
    loop: TreeLoop | None
    lower: Expr
    upper: Expr


def _runs(
    tree: ScheduleTree, statement: Statement, dim: str, vector: tuple[str, ...]
) -> list[_Run] | None:
    """Where a statement is executed; ``None`` if the dimension is no rising loop somewhere.

    ``vector``: dimensions of the statement's domain that are none of its point.
    """
    dims = [d for d in statement.domain.dims if d not in vector]
    if dim not in dims:
        return None
    runs = []
    for order, (execute, loops) in enumerate(_executions(tree, ())):
        if execute.statement == statement.name:
            at = execute.point[dims.index(dim)]
            loop = next((x for x in loops if at == Sym(x.var) and x.step > 0), None)
            if not all(isinstance(e, Sym | Const) for e in execute.point):
                return None
            if loop is not None:
                runs.append(_Run(order=order, loop=loop, lower=loop.lower, upper=loop.upper))
            elif isinstance(at, Const):
                runs.append(_Run(order=order, loop=None, lower=at, upper=add(at, ONE)))
            else:
                return None
    return runs


def _is_later(run: _Run, other: _Run, space: Space) -> bool:
    """Whether what comes later along the dimension is run later in time, too.

    ``run`` writes rows, ``other`` reads all up to its own.
    """
    if run.order > other.order or (run.loop is not None and run.loop is other.loop):
        return True
    ends = run.upper, add(other.lower, ONE)
    known = not any(space.universe.is_dim(n) for e in ends for n in symbols(e))
    return known and space.implies(Domain(()), compare("<=", *ends))


def _executions(
    tree: ScheduleTree, loops: tuple[TreeLoop, ...]
) -> Iterator[tuple[Execute, tuple[TreeLoop, ...]]]:
    match tree:
        case TreeSequence(items=items):
            for item in items:
                yield from _executions(item, loops)
        case TreeLoop(body=body):
            yield from _executions(body, (*loops, tree))
        case TreeGuard(body=body):
            yield from _executions(body, loops)
        case Execute():
            yield tree, loops


def ends_vary(read: Read, dims: Iterable[str], gathered: bool) -> bool:
    """Whether points that differ in some of the dimensions read different parts of a tensor.

    Of what is gathered that counts only where all begin at one place: else each has its own rows.
    """
    starts = [s for e in read.entries for s in symbols(e.lo if isinstance(e, Slice) else e)]
    moving = [s for e in read.entries for s in symbols(e)]
    apart = gathered and any(d in starts for d in dims)
    return not apart and any(d in moving for d in dims)
