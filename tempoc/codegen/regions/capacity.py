"""The capacities that growing stores must have before a step of a region."""

from __future__ import annotations

from tempoc.program.analysis.traversal import calls, variables
from tempoc.program.nodes import nodes
from tempoc.program.nodes.arithmetic import Arith, Operation, names


def capacity_needs(loop: nodes.Loop, outer: tuple[str, ...]) -> tuple[nodes.CapacityNeed, ...]:
    """The capacity needs of all calls, over the variables of the loop and of enclosing loops.

    A need that is neither constant in the loop nor grows by one row a step is taken to be the full
    size.
    """
    needs: dict[tuple[str, Arith], dict[Arith, None]] = {}
    inner = {*variables(loop.body)}
    for call in calls(loop):
        for need in call.needs:
            rows = needs.setdefault((need.dim, need.size), {})
            for e in need.rows:
                plain = inner.isdisjoint(names(e)) and _is_plain(e, loop)
                rows[e if plain else need.size] = None
    return tuple(
        nodes.CapacityNeed(dim=dim, size=size, rows=tuple(rows))
        for (dim, size), rows in needs.items()
    )


def _is_plain(e: Arith, loop: nodes.Loop) -> bool:
    """Whether an expression is constant in the loop, or grows by one with each step."""
    if loop.var not in names(e):
        return True
    parts = e.args if isinstance(e, Operation) and e.op == "+" else (e,)
    moving = [a for a in parts if isinstance(a, Operation) or a == loop.var]
    return loop.step == 1 and moving == [loop.var]
