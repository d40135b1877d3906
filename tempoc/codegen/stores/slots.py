"""Which keys pick the same array: a window of a dimension reuses arrays, one for each slot."""

from __future__ import annotations

from tempoc.memory.plan_types import Buffer, BufferKey
from tempoc.symbolic.expr import ONE, Expr, compare, conjunction, disjunction, sub


def same_slots(store: Buffer, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two keys of a store always pick the same array: equal but for windows of one."""
    pairs = zip(store.keys, a, b, strict=True)
    return all(k.modulo == ONE or x == y for k, x, y in pairs)


def distinct_slots(store: Buffer, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> Expr:
    """A condition under which two keys of a store pick different arrays."""
    return disjunction(*map(_differ, store.keys, a, b))


def _differ(key: BufferKey, a: Expr, b: Expr) -> Expr:
    """Indices differ, and by less than the window: those a window apart share an array."""
    different = compare("!=", a, b)
    if key.modulo is None:
        return different
    near = compare("<", sub(a, b), key.modulo), compare("<", sub(b, a), key.modulo)
    return conjunction(different, *near)
