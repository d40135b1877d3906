"""How far stores must have grown before a step of a region, from what its calls need."""

from __future__ import annotations

from tempoc.program.analysis.traversal import calls, variables
from tempoc.program.nodes import nodes
from tempoc.program.nodes.arithmetic import Arith, Operation, names


def capacity_needs(loop: nodes.Loop, outer: tuple[str, ...]) -> tuple[nodes.CapacityNeed, ...]:
    """The needs of all calls, over the loop's variable and those of the loops around.

    What moves otherwise than by one row with each step is taken to be all there may ever be.
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
    """Whether an expression does not name the variable, or is one more with each step."""
    if loop.var not in names(e):
        return True
    parts = e.args if isinstance(e, Operation) and e.op == "+" else (e,)
    moving = [a for a in parts if isinstance(a, Operation) or a == loop.var]
    return loop.step == 1 and moving == [loop.var]
