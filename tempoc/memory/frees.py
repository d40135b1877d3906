"""Frees and donations: arrays that are dead after a statement, and arguments it may overwrite."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.memory.lifetime import Lifetimes
from tempoc.memory.plan_types import MemoryRelease
from tempoc.program.nodes.buffers import Buffer
from tempoc.schedule.tree import ScheduleTree, TreeSequence, executed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


def releases(
    stores: Mapping[str, Buffer], lives: Lifetimes, tree: ScheduleTree
) -> dict[str, tuple[MemoryRelease, ...]]:
    """The arrays to free after each statement.

    The slots of a ring are never freed one by one: later writes reuse them. Arrays that die in the
    last part of the program are not freed, since that would cost a test in its loops; nor are
    single values that are written repeatedly.
    """
    last = _last_statements(tree)
    tensors = lives.statements.tensors
    by_statement: dict[str, list[MemoryRelease]] = {}
    for name, store in stores.items():
        keys = tuple(k.dim for k in store.keys if k.modulo is None)
        rings = [k for k in store.keys if k.modulo not in (None, ix.ONE)]
        again = any(k.modulo == ix.ONE for k in store.keys)
        single = not keys
        if tensors[name].is_given or rings or (single and not (store.axes or store.shape)):
            continue
        for death in lives.deaths(name, keys):
            if single and (death.task in last or _is_rare(death.where, lives.timeline.tasks)):
                continue
            if again and death.where != ix.TRUE and (death.task in last or not store.axes):
                continue
            if any(isinstance(e, ix.Slice) for e in death.entries):
                continue
            at = dict(zip(keys, death.entries, strict=True))
            key = tuple(_point(at.get(k.dim, ix.ZERO)) for k in store.keys)
            release = MemoryRelease(tensor=name, key=key, where=death.where)
            by_statement.setdefault(death.task, []).append(release)
    return {task: tuple(items) for task, items in by_statement.items()}


def _is_rare(where: ix.Expr, tasks: Mapping[str, Domain]) -> bool:
    """Whether a condition is on bounds alone: a degenerate case, such as a loop of no steps."""
    dims = {d for domain in tasks.values() for d in domain.dims}
    return where != ix.TRUE and dims.isdisjoint(symbols(where))


def _point(e: object) -> ix.Expr:
    assert isinstance(e, ix.Expr)
    return e


def donations(stores: Mapping[str, Buffer], lives: Lifetimes) -> dict[str, tuple[str, ...]]:
    """For each statement the tensors without axes that it reads last."""
    tensors = lives.statements.tensors
    by_statement = {}
    for statement in lives.statements.statements:
        names = dict.fromkeys(r.tensor for r in statement.reads)
        dying = tuple(
            name
            for name in names
            if not tensors[name].is_given
            and not stores[name].axes
            and lives.dies_after(statement, name)
        )
        if dying:
            by_statement[statement.name] = dying
    return by_statement


def _last_statements(tree: ScheduleTree) -> frozenset[str]:
    """The statements in the last item of the tree (all of them if it is not a sequence)."""
    while isinstance(tree, TreeSequence) and tree.items:
        tree = tree.items[-1]
    return frozenset(e.statement for e in executed(tree))
