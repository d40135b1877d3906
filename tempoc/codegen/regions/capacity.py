"""The capacities that growing stores must have before a step of a region, or in a part of it."""

from __future__ import annotations

from tempoc.codegen.regions.context import ProgramContext
from tempoc.program.analysis.live import changed_stores
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


def prefix_axes(
    loop: prog.Loop, context: ProgramContext, live: frozenset[str]
) -> tuple[dict[str, int], int] | None:
    """The axis of the rows of each store, and how many of them a step at 0 needs.

    ``None`` if no step reads ranges of rows, or if steps may need others than the first ones.
    """
    rows: dict[tuple[str, ix.Expr], list[ix.Expr]] = {}
    ranges: set[tuple[str, ix.Expr]] = set()
    inner = {*variables(loop.body)}
    for call in calls(loop.body):
        for need in call.needs:
            rows.setdefault((need.dim, need.size), []).extend(need.rows)
            if not {*symbols(need.size)}.isdisjoint(symbols(context.touched[call.kernel])):
                ranges.add((need.dim, need.size))
    for group, needed in rows.items():
        ahead = [ix.sub(e, ix.Sym(loop.var)) for e in needed]
        counts = [e.value for e in ahead if isinstance(e, ix.Const)]
        names = {name for e in needed for name in symbols(e)}
        if group in ranges and len(counts) == len(needed) and names.isdisjoint(inner):
            stores = _stores(loop, context, group)
            if {*stores} <= {*changed_stores(loop, live, context.kinds)}:
                return stores, max(counts)
    return None


def _stores(loop: prog.Loop, context: ProgramContext, group: tuple[str, ix.Expr]) -> dict[str, int]:
    """The stores of a group that a loop accesses, with the axes of their arrays that grow."""
    axes: dict[str, int] = {}
    for call in calls(loop.body):
        for cell in (*call.args, *call.results):
            store = context.stores[cell.store]
            grows = store.growing
            if grows is not None and (grows.dim, grows.size) == group:
                axes[cell.store] = store.order.index(store.axes.index(grows))
    return axes
