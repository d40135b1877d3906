"""The capacities that growing stores must have before a step of a region."""

from __future__ import annotations

from tempoc.program.analysis.traversal import calls, variables
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def capacity_needs(loop: prog.Loop) -> tuple[prog.CapacityNeed, ...]:
    """The capacity needs of all calls, over the variables of the loop and of enclosing loops.

    A need that is neither constant in the loop nor grows by one row a step is taken to be the full
    size.
    """
    needs: dict[tuple[str, ix.Expr], dict[ix.Expr, None]] = {}
    inner = {*variables(loop.body)}
    for call in calls(loop):
        for need in call.needs:
            rows = needs.setdefault((need.dim, need.size), {})
            for e in need.rows:
                plain = inner.isdisjoint(symbols(e)) and _is_plain(e, loop)
                rows[e if plain else need.size] = None
    return tuple(
        prog.CapacityNeed(dim=dim, size=size, rows=tuple(rows))
        for (dim, size), rows in needs.items()
    )


def _is_plain(e: ix.Expr, loop: prog.Loop) -> bool:
    """Whether an expression is constant in the loop, or grows by one with each step."""
    var = loop.var
    return var not in symbols(e) or (loop.step == 1 and var not in symbols(e - ix.Sym(var)))
