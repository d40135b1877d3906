"""The stores whose cells exist, as zeros, before anything is written to them."""

from __future__ import annotations

from tempoc.program.analysis.traversal import blocks, calls, regions
from tempoc.program.nodes import nodes as prog


def zero_filled_stores(program: prog.Program) -> frozenset[str]:
    """Stores whose cells start as zeros: arrays with axes, and what a call updates in place."""
    stores = {store.name for store in program.stores if store.axes}
    for call in calls(program.tree):
        stores |= {c.store for c in call.results if c.when is None and c in call.args}
    for region in regions(program.tree):
        stores |= {cells.store for cells in (*region.carried, *region.read)}
    return frozenset(stores)


def stores_read_as_zeros(program: prog.Program) -> frozenset[str]:
    """Stores whose unwritten cells are zeros: those that start as zeros, and operands of blocks."""
    return zero_filled_stores(program) | {
        cells.store
        for block in blocks(program.tree)
        for cells in (*block.carried, *block.made, *block.read)
    }
