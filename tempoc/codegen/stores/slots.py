"""Which keys select the same array: keys are reduced modulo the number of slots."""

from __future__ import annotations

from tempoc.program.nodes.buffers import Buffer, Key
from tempoc.symbolic import expr as ix


def same_slots(store: Buffer, a: tuple[ix.Expr, ...], b: tuple[ix.Expr, ...]) -> bool:
    """Whether two keys of a store always select the same array."""
    pairs = zip(store.keys, a, b, strict=True)
    return all(k.modulo == ix.ONE or x == y for k, x, y in pairs)


def distinct_slots(store: Buffer, a: tuple[ix.Expr, ...], b: tuple[ix.Expr, ...]) -> ix.Expr:
    """A condition under which two keys of a store select different arrays."""
    return ix.disjunction(*map(_differ, store.keys, a, b))


def _differ(key: Key, a: ix.Expr, b: ix.Expr) -> ix.Expr:
    """Indices differ by less than the modulus: indices that many apart share an array."""
    different = ix.compare("!=", a, b)
    if key.modulo is None:
        return different
    near = ix.compare("<", ix.sub(a, b), key.modulo), ix.compare("<", ix.sub(b, a), key.modulo)
    return ix.conjunction(different, *near)
