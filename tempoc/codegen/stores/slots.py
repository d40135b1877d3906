"""Which keys select the same array: keys are reduced modulo the number of slots."""

from __future__ import annotations

from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.symbolic.expr import ONE, Expr, compare, conjunction, disjunction, sub


def same_slots(store: Buffer, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two keys of a store always select the same array."""
    pairs = zip(store.keys, a, b, strict=True)
    return all(k.modulo == ONE or x == y for k, x, y in pairs)


def distinct_slots(store: Buffer, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> Expr:
    """A condition under which two keys of a store select different arrays."""
    return disjunction(*map(_differ, store.keys, a, b))


def _differ(key: Key, a: Expr, b: Expr) -> Expr:
    """Indices differ by less than the modulus: indices that many apart share an array."""
    different = compare("!=", a, b)
    if key.modulo is None:
        return different
    near = compare("<", sub(a, b), key.modulo), compare("<", sub(b, a), key.modulo)
    return conjunction(different, *near)
