"""Compares symbolic sizes by evaluating them at typical bounds.

Used only to choose between plans that are all correct.
"""

from __future__ import annotations

from collections.abc import Iterable

from tempoc.base.cost_model import MODEL
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import evaluate, symbols


def typical_bounds(universe: Universe, huge: str | None = None) -> dict[str, int]:
    """A value for each bound: fixed ones have theirs, derived ones follow, ``huge`` is large."""
    values = {b.name: MODEL.unknown_bound for b in universe.bounds if b.value is None}
    if huge in values:
        values[huge] = MODEL.huge_bound
    derived = [b for b in universe.bounds if b.value is not None]
    while derived:
        ready = [b for b in derived if b.value is not None and set(symbols(b.value)) <= set(values)]
        if not ready:
            break
        for b in ready:
            assert b.value is not None
            values[b.name] = max(1, evaluate(b.value, values))
            derived.remove(b)
    return values


def product_at(sizes: Iterable[Expr], values: dict[str, int]) -> int:
    """The product of sizes at some bounds."""
    result = 1
    for e in sizes:
        result *= evaluate(e, values)
    return result


def is_small(window: Expr, bound: str, universe: Universe) -> bool:
    """Whether a window stays well below the extent ``bound`` when that grows.

    A ring of ``T-1`` slots instead of ``T`` would cost index arithmetic and save nothing.
    """
    values = typical_bounds(universe, huge=bound)
    return 2 * evaluate(window, values) <= values[bound]
