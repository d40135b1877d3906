"""Memory plans with one thing wrong: too few slots, freed or given away too early, grown too late.

Nothing here knows how plans are made, or how they are checked. A mutant need not be wrong: a plan
may have had more room than it needed. Whether it is, a run of it tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tempoc.memory.plan_types import MemoryPlan, MemoryRelease
from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.sdg.statements.statements import Read, Statement, Statements, Write
from tempoc.symbolic.expr import ONE, TRUE, Expr, Slice, maximum

Mutant = tuple[str, MemoryPlan]


def mutants(plan: MemoryPlan, statements: Statements) -> Iterator[Mutant]:
    """All of them, with what is wrong."""
    yield from too_small(plan, statements)
    yield from too_early(plan, statements)
    yield from given_away(plan, statements)
    yield from too_late(plan)
    yield from too_short(plan, statements)


# ------------------------------------------------------------------ slots


def too_small(plan: MemoryPlan, statements: Statements) -> Iterator[Mutant]:
    """One slot less along a dimension, or one element less along a spatial axis."""
    for name, store in plan.stores.items():
        fewer = [*_fewer_keys(store, plan), *_fewer_slots(store), *_sparser(store)]
        for what, less in [*fewer, *_narrower(store)]:
            if not statements.tensors[name].is_given:
                yield f"{name}: {what}", replace(plan, stores={**plan.stores, name: less})


def _fewer_keys(store: Buffer, plan: MemoryPlan) -> Iterator[tuple[str, Buffer]]:
    for i, key in enumerate(store.keys):
        if key.modulo != ONE:
            modulo = maximum(ONE, (key.modulo or plan.extents[key.dim]) - 1)
            keys = (*store.keys[:i], Key(dim=key.dim, modulo=modulo), *store.keys[i + 1 :])
            yield f"one array less along {key.dim}", replace(store, keys=keys)


def _fewer_slots(store: Buffer) -> Iterator[tuple[str, Buffer]]:
    for i, axis in enumerate(store.axes):
        size = maximum(ONE, axis.size - 1)
        for ring in dict.fromkeys((axis.ring, True)):
            less = replace(axis, size=size, ring=ring, least=0 if ring else axis.least)
            axes = (*store.axes[:i], less, *store.axes[i + 1 :])
            kind = "ring" if ring else "block"
            yield f"a {kind} of one slot less along {axis.dim}", replace(store, axes=axes)


def _sparser(store: Buffer) -> Iterator[tuple[str, Buffer]]:
    for i, axis in enumerate(store.axes):
        if axis.every > 1:
            more = replace(axis, every=axis.every + 1)
            axes = (*store.axes[:i], more, *store.axes[i + 1 :])
            yield f"one more point for each slot along {axis.dim}", replace(store, axes=axes)


def _narrower(store: Buffer) -> Iterator[tuple[str, Buffer]]:
    for i, size in enumerate(store.shape):
        if size != ONE:
            shape = (*store.shape[:i], size - 1, *store.shape[i + 1 :])
            yield f"one element less along axis {i}", replace(store, shape=shape)


# ------------------------------------------------------------------ lives


def too_early(plan: MemoryPlan, statements: Statements) -> Iterator[Mutant]:
    """Arrays given back a step early, whatever the condition says, or after any use of them."""
    for name, items in plan.releases.items():
        for i, release in enumerate(items):
            rest = (*items[:i], *items[i + 1 :])
            at = f"after {name} free {release.tensor}"
            if release.where != TRUE:
                yield f"{at} always", _freeing(plan, name, rest, replace(release, where=TRUE))
            for k, e in enumerate(release.key):
                for step in (-1, 1):
                    key = (*release.key[:k], e + step, *release.key[k + 1 :])
                    yield (
                        f"{at}, {step} along {k}",
                        _freeing(plan, name, rest, replace(release, key=key)),
                    )
    for s in statements.statements:
        for use in (*s.reads, *s.writes):
            if (key := _array(use, plan, statements)) is not None:
                release = MemoryRelease(tensor=use.tensor, key=key, where=TRUE)
                items = plan.releases.get(s.name, ())
                if release not in items:
                    freed = _freeing(plan, s.name, items, release)
                    yield f"after {s.name} free {use.tensor}", freed


def _array(use: Read | Write, plan: MemoryPlan, statements: Statements) -> tuple[Expr, ...] | None:
    """The array that a use is about, if it is one."""
    store = plan.stores[use.tensor]
    at = dict(zip(statements.tensors[use.tensor].domain.dims, use.entries, strict=True))
    key = tuple(at[k.dim] for k in store.keys)
    if statements.tensors[use.tensor].is_given or any(isinstance(e, Slice) for e in key):
        return None
    return tuple(e for e in key if isinstance(e, Expr))


def _freeing(
    plan: MemoryPlan, statement: str, rest: tuple[MemoryRelease, ...], release: MemoryRelease
) -> MemoryPlan:
    return replace(plan, releases={**plan.releases, statement: (*rest, release)})


def given_away(plan: MemoryPlan, statements: Statements) -> Iterator[Mutant]:
    """A statement may overwrite what it reads, be it needed later or not."""
    for s in statements.statements:
        own = plan.donations.get(s.name, ())
        for tensor in dict.fromkeys(r.tensor for r in s.reads):
            if tensor not in own and not _updates(s, tensor):
                donations = {**plan.donations, s.name: (*own, tensor)}
                yield f"{s.name} overwrites {tensor}", replace(plan, donations=donations)


def _updates(s: Statement, tensor: str) -> bool:
    """Whether a statement writes what it reads, in place."""
    return any(w.tensor == tensor for w in s.writes)


def too_short(plan: MemoryPlan, statements: Statements) -> Iterator[Mutant]:
    """An array that each step of a loop makes, be its values needed in other steps or not."""
    for name, store in plan.stores.items():
        for dim in (k.dim for k in store.keys if k.modulo == ONE):
            if name not in plan.step_local and not statements.tensors[name].is_given:
                local = {**plan.step_local, name: dim}
                yield f"{name}: new in each step of {dim}", replace(plan, step_local=local)


# ------------------------------------------------------------------ growth


def too_late(plan: MemoryPlan) -> Iterator[Mutant]:
    """A statement that needs more rows than it says, or says nothing of them."""
    for name, items in plan.needs.items():
        for i, need in enumerate(items):
            rest = (*items[:i], *items[i + 1 :])
            needs = {**plan.needs, name: rest}
            yield f"{name} does not wait for {need.dim}", replace(plan, needs=needs)
            less = replace(need, rows=tuple(e - 1 for e in need.rows))
            needs = {**plan.needs, name: (*rest, less)}
            yield f"{name} waits for less of {need.dim}", replace(plan, needs=needs)
