"""Alias analysis of cells: keys of a store are compared as linear forms of loop variables."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.program.nodes.arithmetic import Arith, Operation
from tempoc.program.nodes.nodes import Store

CellKey = tuple[Arith, ...]
_LinearForm = dict[str, int]
_CONSTANT = ""


def slot(store: Store, key: CellKey) -> CellKey:
    """A key without the parts that have a single slot, which do not distinguish cells."""
    return tuple(e for e, k in zip(key, store.keys, strict=True) if k.modulo != 1)


def are_apart(store: Store, a: CellKey, b: CellKey) -> bool:
    """Whether two full keys are certain to name different cells."""
    for x, y, part in zip(a, b, store.keys, strict=True):
        gap = _difference(x, y)
        if gap is None or part.modulo == 1:
            continue
        if part.modulo is None and gap:
            return True
        if isinstance(part.modulo, int) and gap % part.modulo:
            return True
    return False


def are_same(store: Store, a: CellKey, b: CellKey) -> bool:
    """Whether two full keys are certain to name the same cell."""
    return all(
        part.modulo == 1 or _difference(x, y) == 0
        for x, y, part in zip(a, b, store.keys, strict=True)
    )


def _difference(a: Arith, b: Arith) -> int | None:
    """The difference of two expressions, if it is a constant."""
    first, second = _linear_form(a), _linear_form(b)
    if first is None or second is None:
        return None
    gap = _sum(first, second, -1)
    return None if any(n for name, n in gap.items() if name) else gap.get(_CONSTANT, 0)


def _linear_form(e: Arith) -> _LinearForm | None:
    """An expression as a linear form (coefficients by name); ``None`` if it is not linear."""
    match e:
        case int():
            return {_CONSTANT: e}
        case str():
            return {e: 1}
        case Operation(op="+" | "-" as op, args=args):
            total: _LinearForm = {}
            for k, part in enumerate(map(_linear_form, args)):
                if part is None:
                    return None
                total = _sum(total, part, -1 if k and op == "-" else 1)
            return total
        case (
            Operation(op="*", args=(int() as factor, factor_form))
            | Operation(op="*", args=(factor_form, int() as factor))
        ):
            part = _linear_form(factor_form)
            return None if part is None else {name: factor * n for name, n in part.items()}
        case _:
            return None


def _sum(a: Mapping[str, int], b: Mapping[str, int], sign: int) -> _LinearForm:
    return {name: a.get(name, 0) + sign * b.get(name, 0) for name in (*a, *b)}
