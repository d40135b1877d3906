"""Alias analysis of cells: keys of a store are compared as linear forms of loop variables."""

from __future__ import annotations

from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix

CellKey = tuple[ix.Expr, ...]


def slot(store: Buffer, key: CellKey) -> CellKey:
    """A key without the parts that have a single slot, which do not distinguish cells."""
    return tuple(e for e, k in zip(key, store.keys, strict=True) if k.modulo != ix.ONE)


def are_apart(store: Buffer, a: CellKey, b: CellKey) -> bool:
    """Whether two full keys are certain to name different cells."""
    for x, y, part in zip(a, b, store.keys, strict=True):
        gap = _difference(x, y)
        if gap is None or part.modulo == ix.ONE:
            continue
        if part.modulo is None and gap:
            return True
        if isinstance(part.modulo, ix.Const) and gap % part.modulo.value:
            return True
    return False


def are_same(store: Buffer, a: CellKey, b: CellKey) -> bool:
    """Whether two full keys are certain to name the same cell."""
    return all(
        part.modulo == ix.ONE or _difference(x, y) == 0
        for x, y, part in zip(a, b, store.keys, strict=True)
    )


def _difference(a: ix.Expr, b: ix.Expr) -> int | None:
    """The difference of two expressions, if it is a constant."""
    gap = ix.sub(a, b)
    return gap.value if isinstance(gap, ix.Const) else None
