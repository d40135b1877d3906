"""Liveness of stores, by a backward walk over the tree.

Only a store of a single array can be overwritten as a whole: a call that has it as a result but not
as an argument ends its live range. Any other store is live wherever it is read or written later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from tempoc.program.analysis.traversal import written_stores
from tempoc.program.nodes import nodes
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic.expr import ONE

StoreNames = frozenset[str]


def single_array_stores(stores: Mapping[str, Buffer]) -> StoreNames:
    """The stores of a single array that does not grow."""
    return frozenset(
        name
        for name, s in stores.items()
        if all(key.modulo == ONE for key in s.keys) and not s.growing
    )


def live_before(s: nodes.ProgramStatement, after: StoreNames, single: StoreNames) -> StoreNames:
    """The stores that are live before a statement, given those live ``after`` it."""
    match s:
        case nodes.Sequence(items=items):
            for item in reversed(items):
                after = live_before(item, after, single)
            return after
        case nodes.Loop(body=body):
            return live_in_loop(body, after, single)
        case nodes.Guard(body=body):
            return after | live_before(body, after, single)
        case nodes.Region(loop=body) | nodes.Block(body=body):
            return live_before(body, after, single)
        case nodes.Effect(call=call):
            return live_before(call, after, single)
        case nodes.Call(args=args, results=results) | nodes.Host(args=args, results=results):
            return (
                (after - _overwritten(results, single))
                | _touched(args)
                | _partly_written(results, single)
            )
        case nodes.Free(cells=cells):
            return after - _overwritten(cells, single)
        case nodes.Load() | nodes.Evict():
            return after
        case _:
            assert_never(s)


def live_in_loop(body: nodes.ProgramStatement, after: StoreNames, single: StoreNames) -> StoreNames:
    """The stores that are live before each step of a loop, given those live ``after`` the loop."""
    return after | live_before(body, frozenset(), single)


def changed_stores(
    s: nodes.ProgramStatement, after: StoreNames, single: StoreNames
) -> tuple[str, ...]:
    """The stores that a statement writes and that are live ``after`` it, in order.

    A store of several arrays counts as live.
    """
    return tuple(n for n in written_stores(s) if n in after or n not in single)


def live_after_each(
    items: Sequence[nodes.ProgramStatement], after: StoreNames, single: StoreNames
) -> Iterator[tuple[nodes.ProgramStatement, StoreNames]]:
    """The statements of a sequence, each with the stores that are live after it."""
    live_sets = [after]
    for item in reversed(items):
        live_sets.append(live_before(item, live_sets[-1], single))
    return zip(items, live_sets[-2::-1], strict=True)


def _overwritten(cells: Sequence[nodes.Cell], single: StoreNames) -> StoreNames:
    return frozenset(c.store for c in cells if c.when is None and c.store in single)


def _partly_written(cells: Sequence[nodes.Cell], single: StoreNames) -> StoreNames:
    return _touched(cells) - _overwritten(cells, single)


def _touched(cells: Sequence[nodes.Cell]) -> StoreNames:
    return frozenset(c.store for c in cells)
