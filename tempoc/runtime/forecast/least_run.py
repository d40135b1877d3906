"""Budgets before there is a run, which only the compiler asks about."""

from __future__ import annotations

from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.bounds import resolve
from tempoc.runtime.forecast.budget import check_budget


def default_filled_stores(program: prog.Program) -> frozenset[str]:
    """The stores that are filled before a run in which all params with a default are computed."""
    stores = [i.store for i in program.inputs]
    stores += [p.store for p in program.params if not p.has_default]
    return frozenset(stores + ([program.seed] if program.seed else []))


def check_least(program: prog.Program, budget: int) -> None:
    """Raises ``RunError`` if not even a run with the smallest bounds fits into a budget."""
    free = [b.name for b in program.bounds if b.value is None]
    resolved = resolve(program, dict.fromkeys(free, 1), (), {})
    if not resolved.problems:
        check_budget(program, resolved.values, default_filled_stores(program), budget)
