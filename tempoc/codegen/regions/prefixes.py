"""Loops of a block whose first steps read only the first rows of growing stores.

::

    loop = lambda first, end, carry: lax.fori_loop(first, end, step_t, carry)
    x, k, tok = looped_in_prefixes(0, t_end, loop, (x, k, tok), {0: 0, 1: 0, 2: 0}, 2)

A block is one call, so that its stores have their final size from the start, with room for the runs
that share it. A step reads all rows that it is given, and masks those to come. Within the block the
first steps are given a part of them: it is copied once, and each step reads less.
"""

from __future__ import annotations

from tempoc.codegen.regions.context import ProgramContext
from tempoc.program.analysis.live import changed_stores
from tempoc.program.analysis.traversal import calls, variables
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def looped_in_prefixes(parts: tuple[int, ...], least: int) -> str:
    """Stands in front of blocks with such loops: these parts of the rows, if they have as many."""
    return f'''\
def looped_in_prefixes(lower, upper, loop, carry, axes, ahead):
    """A loop of which a step reads rows up to ``ahead`` beyond it: first on parts of all rows.

    ``axes`` are those along which arrays of the carry have rows, by their place.
    """
    rows = [jax.tree.leaves(carry[place])[0].shape[axis] for place, axis in axes.items()][0]
    def first_rows(count):
        cut = lambda axis: lambda x: lax.slice_in_dim(x, 0, count, axis=axis)
        both = enumerate(carry)
        return tuple(jax.tree.map(cut(axes[k]), x) if k in axes else x for k, x in both)
    put = lambda x, part: lax.dynamic_update_slice(x, part, (0,) * x.ndim)
    for count in [rows // part for part in {parts} if rows >= {least} * part]:
        if jax.default_backend() == "cpu":
            end = jnp.clip(count - ahead + 1, lower, upper)
            both = enumerate(zip(carry, loop(lower, end, first_rows(count))))
            carry = tuple(jax.tree.map(put, x, y) if k in axes else y for k, (x, y) in both)
            lower = end
    return loop(lower, upper, carry)
'''


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
