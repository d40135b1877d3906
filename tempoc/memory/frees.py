"""Where values end: after a statement, in one that may overwrite them, with a step of a loop.

Frees are of arrays that are dead after a statement, donations of arguments that it may overwrite.
Of some arrays no value outlasts a step of a device loop::

    for i in range(I) on device:
      for t in range(T) on device:
        v[i, t] = ...
      w[i] = mean(v[i, 0:T])

All values of ``v`` are written and read in the same step of ``i``, so its array need not exist
between steps: the function of the loop makes it anew in each. It is not carried from step to step
because several calls write it, and what lives at other times of a step can have its memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tempoc.base.cost_model import MODEL
from tempoc.memory.lifetime import Lifetimes
from tempoc.memory.plan_types import MemoryRelease
from tempoc.memory.text import cell_bytes
from tempoc.program.nodes.buffers import Buffer
from tempoc.schedule.tree import (
    Execute,
    ScheduleTree,
    TreeGuard,
    TreeLoop,
    TreeSequence,
    executed,
)
from tempoc.sdg.graph.graph import Output
from tempoc.sdg.statements.statements import Statements, Tensor
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe, conjuncts, substitute_entry
from tempoc.symbolic.walk import symbols


def releases(
    stores: Mapping[str, Buffer], lives: Lifetimes, tree: ScheduleTree
) -> dict[str, tuple[MemoryRelease, ...]]:
    """The arrays to free after each statement.

    The slots of a ring are never freed one by one: later writes reuse them. Arrays that die in the
    last part of the program are not freed, since that would cost a test in its loops; nor are
    single values that are written repeatedly.
    """
    last, before = _last_statements(tree)
    tensors = lives.statements.tensors
    by_statement: dict[str, list[MemoryRelease]] = {}
    for name, store in stores.items():
        keys = tuple(k.dim for k in store.keys if k.modulo is None)
        rings = [k for k in store.keys if k.modulo not in (None, ix.ONE)]
        again = any(k.modulo == ix.ONE for k in store.keys)
        single = not keys
        if tensors[name].is_given or rings or (single and not (store.axes or store.shape)):
            continue
        for death in lives.deaths(name, keys, last - before if single else frozenset()):
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


def _last_statements(tree: ScheduleTree) -> tuple[frozenset[str], frozenset[str]]:
    """The statements in the last item of the tree (all of them if it is not a sequence).

    And those before it: steps of one statement may stand in both.
    """
    before: set[str] = set()
    while isinstance(tree, TreeSequence) and tree.items:
        *others, tree = tree.items
        before |= {e.statement for item in others for e in executed(item)}
    return frozenset(e.statement for e in executed(tree)), frozenset(before)


# ------------------------------------------------------------------ steps


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepAccess:
    """An access of a tensor: its entries over variables of loops, and what it is executed in.

    ``loops`` are the device loops around it, with their numbers in the tree.
    """

    entries: tuple[ix.Entry, ...]
    loops: tuple[tuple[int, TreeLoop], ...]
    conditions: tuple[ix.Expr, ...]


def step_local(
    stores: Mapping[str, Buffer],
    statements: Statements,
    tree: ScheduleTree,
    outputs: Sequence[Output],
    universe: Universe,
) -> dict[str, str]:
    """Such tensors with large arrays, each with the variable of the outermost such loop."""
    uses = _TreeAccesses(statements=statements)
    uses.within(tree, (), ())
    shown = {(o.source, o.out) for o in outputs}
    local: dict[str, str] = {}
    for name, own in uses.by_tensor.items():
        tensor, store = statements.tensors[name], stores[name]
        if tensor.is_given or (tensor.node, tensor.out) in shown or not _is_large(store, universe):
            continue
        if all(key.modulo == ix.ONE for key in store.keys):
            local |= ((name, loop.var) for loop in _loops_of_one_step(tensor, store, own))
    return local


def _is_large(store: Buffer, universe: Universe) -> bool:
    """Whether an array may be large, and each step that makes it needs all of it.

    Lengths that data decide may be short in most steps.
    """
    size = cell_bytes(store)
    if not store.axes or store.growing or {*symbols(size)} & {*universe.lengths}:
        return False
    return not isinstance(size, ix.Const) or size.value > MODEL.small_bytes


def _loops_of_one_step(
    tensor: Tensor, store: Buffer, uses: Sequence[_StepAccess]
) -> Iterator[TreeLoop]:
    """The outermost device loop around all uses of a tensor of which each is of one step."""
    dims = tensor.domain.dims
    for k, (number, loop) in enumerate(uses[0].loops):
        if not all(len(u.loops) > k and u.loops[k][0] == number for u in uses):
            return
        indices = ([(u.entries[dims.index(key.dim)], u) for u in uses] for key in store.keys)
        if any(all(_is_step(e, loop, u.conditions) for e, u in column) for column in indices):
            yield loop
            return


def _is_step(e: ix.Entry, loop: TreeLoop, conditions: Sequence[ix.Expr]) -> bool:
    """Whether an index is the variable of a loop, wherever the conditions hold.

    It is, too, where it is the last value and the variable is no less, or the first and no more.
    """
    var = ix.Sym(loop.var)
    if isinstance(e, ix.Slice) or abs(loop.step) != 1:
        return e == var
    first, last = loop.lower, loop.upper - 1
    if loop.step < 0:
        first, last = loop.upper + 1, loop.lower
    least = [g for c in conditions for g in _excesses(c)]
    no_less = any(_is_at_least(ix.sub(var, e), g) for g in least)
    no_more = any(_is_at_least(ix.sub(e, var), g) for g in least)
    return e == var or (e == last and no_less) or (e == first and no_more)


def _excesses(condition: ix.Expr) -> Iterator[ix.Expr]:
    """What is at least 0 where a comparison holds."""
    if isinstance(condition, ix.Relation):
        gap = ix.sub(condition.right, condition.left)
        if condition.op in ("<=", "<", "=="):
            yield gap - 1 if condition.op == "<" else gap
        if condition.op in (">=", ">", "=="):
            yield ix.sub(ix.Const(-1) if condition.op == ">" else ix.ZERO, gap)


def _is_at_least(a: ix.Expr, b: ix.Expr) -> bool:
    gap = ix.sub(a, b)
    return isinstance(gap, ix.Const) and gap.value >= 0


@dataclass(slots=True, kw_only=True)
class _TreeAccesses:
    """Collects the uses of all tensors, in order of execution."""

    statements: Statements
    by_tensor: dict[str, list[_StepAccess]] = field(default_factory=dict)
    loops: int = 0

    def within(
        self,
        tree: ScheduleTree,
        loops: tuple[tuple[int, TreeLoop], ...],
        conditions: tuple[ix.Expr, ...],
    ) -> None:
        """Add those of a part of the tree, within device loops and conditions."""
        match tree:
            case TreeSequence(items=items):
                for item in items:
                    self.within(item, loops, conditions)
            case TreeGuard(condition=condition, body=body):
                self.within(body, loops, (*conditions, *conjuncts(condition)))
            case TreeLoop(body=body, place=place):
                self.loops += 1
                around = ((self.loops, tree),) if place == "device" else ()
                self.within(body, (*loops, *around), conditions)
            case Execute():
                self.execute(tree, loops, conditions)
            case _:
                assert_never(tree)

    def execute(
        self,
        at: Execute,
        loops: tuple[tuple[int, TreeLoop], ...],
        conditions: tuple[ix.Expr, ...],
    ) -> None:
        """Add those of a statement."""
        s = self.statements.by_name[at.statement]
        env = s.domain.at(at.point)
        uses = [(r.tensor, r.entries) for r in s.reads]
        uses += [(w.tensor, w.entries) for w in s.writes]
        for tensor, entries in uses:
            moved = tuple(substitute_entry(e, env) for e in entries)
            use = _StepAccess(entries=moved, loops=loops, conditions=conditions)
            self.by_tensor.setdefault(tensor, []).append(use)
