"""What lies beyond the end of a slice.

A slice whose length varies is read at its greatest length; what is too much is garbage, which
readers mask, since zero times NaN is NaN. Of ``k[0:t+1]`` it is known to be zeros if ``k`` is
written row by row as ``t`` grows, into a block that starts as zeros: nothing later is there yet.
What others write there must lie behind all these rows.
Then a contraction need not mask the store, only the weights it meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tempoc.codegen.stages import Stages
from tempoc.schedule.tree import Execute, Guard, Loop, Sequence, Tree
from tempoc.sdg.statements import Read, Statement
from tempoc.sdg.together import ranges
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ONE, Entry, Expr, Slice, Sym, add, compare, conjunction, sub
from tempoc.symbolic.walk import symbols


def is_zeros(read: Read, statement: Statement, stages: Stages) -> bool:
    """Whether rows from the slice's end on hold zeros when the statement reads them."""
    tensor, store = stages.statements.tensors[read.tensor], stages.plan.stores[read.tensor]
    writers = stages.statements.writers(read.tensor)
    mine = [write for writer, write in writers if writer == statement]
    if not read.forwarded or len(mine) != 1:
        return False
    if store.kind == "resident" or any(k.modulo is not None for k in store.keys):
        return False
    if len(store.axes) != 1 or store.axes[0].ring:
        return False
    own = tuple(Sym(d) for d in tensor.domain.dims)
    if mine[0].entries != own:
        return False
    place = tensor.domain.dims.index(store.axes[0].dim)
    others = [(w, e.entries[place]) for w, e in writers if w != statement]
    if not all(_is_behind(w, at, store.axes[0].dim, statement, stages) for w, at in others):
        return False
    for dim, entry in zip(tensor.domain.dims, read.entries, strict=True):
        if dim == store.axes[0].dim:
            growing = isinstance(entry, Slice) and entry.hi == add(Sym(dim), ONE)
            if not growing or (isinstance(entry, Slice) and entry.step != 1):
                return False
        elif entry != Sym(dim):
            return False
    return _is_plain_nest(stages.tree, statement) or _follows_itself(read, statement, stages)


def _is_behind(
    other: Statement, at: Entry, dim: str, statement: Statement, stages: Stages
) -> bool:
    """Whether all rows that another statement writes come before all that the statement does."""
    space = stages.space
    last = sub(at.hi, ONE) if isinstance(at, Slice) else at
    first = space.lower_bound(Sym(dim), statement.domain)
    return space.implies(
        Domain(()), compare("<", space.upper_bound(last, other.domain), first)
    )


def _follows_itself(read: Read, statement: Statement, stages: Stages) -> bool:
    """Whether each step reads what the step before has written, and so comes after it."""
    dims, space = stages.statements.tensors[read.tensor].domain.dims, stages.space
    for dim, entry in zip(dims, read.entries, strict=True):
        if isinstance(entry, Slice) and ranges(statement.domain, (dim,), space) is not None:
            first = space.lower_bound(Sym(dim), statement.domain)
            later = conjunction(statement.domain.where, compare(">", Sym(dim), first))
            there = Domain(statement.domain.dims, later)
            return space.implies(there, compare("<", entry.lo, Sym(dim)))
    return False


def has_many_ends(read: Read, dims: Iterable[str]) -> bool:
    """Whether points that differ in some of the dimensions read different parts of a tensor."""
    moving = [s for e in read.entries for s in symbols(e)]
    return any(d in moving for d in dims)


def _is_plain_nest(tree: Tree, statement: Statement) -> bool:
    """Whether the statement is executed at one place, each coordinate the variable of a loop.

    Then two instances that differ in one coordinate are executed in its order.
    """
    found = list(_executions(tree, statement.name))
    return (
        len(found) == 1
        and len({*found[0]}) == len(found[0])
        and all(isinstance(e, Sym) for e in found[0])
    )


def _executions(tree: Tree, name: str) -> Iterator[tuple[Expr, ...]]:
    match tree:
        case Sequence(items=items):
            for item in items:
                yield from _executions(item, name)
        case Loop(body=body) | Guard(body=body):
            yield from _executions(body, name)
        case Execute(statement=statement, point=point):
            if statement == name:
                yield point
