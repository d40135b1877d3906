"""Liveness of stores, by a backward walk over the tree.

Only a store of a single array can be overwritten as a whole: a call that has it as a result but not
as an argument ends its live range. Any other store is live wherever it is read or written later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix

StoreNames = frozenset[str]


def written_stores(s: prog.ProgramStatement) -> tuple[str, ...]:
    """The stores that calls in a statement write, in order."""
    writes = (p.results for p in statements_in(s) if isinstance(p, prog.Call | prog.Host))
    return tuple(dict.fromkeys(cell.store for results in writes for cell in results))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKinds:
    """What is known of stores: ``single`` ones are one array.

    In ``step_local`` are those of them without a value between steps of a loop, with the variable
    of that loop; nothing outside of it touches them.
    """

    single: StoreNames
    step_local: Mapping[str, str] = field(default_factory=dict)

    def local_to(self, loop: prog.Loop) -> StoreNames:
        """The stores without a value between the steps of a loop."""
        return frozenset(name for name, var in self.step_local.items() if var == loop.var)


def single_array_stores(stores: Mapping[str, Buffer]) -> StoreNames:
    """The stores of a single array that does not grow."""
    return frozenset(
        name
        for name, s in stores.items()
        if all(key.modulo == ix.ONE for key in s.keys) and not s.growing
    )


def live_before(s: prog.ProgramStatement, after: StoreNames, kinds: StoreKinds) -> StoreNames:
    """The stores that are live before a statement, given those live ``after`` it."""
    match s:
        case prog.Sequence(items=items):
            for item in reversed(items):
                after = live_before(item, after, kinds)
            return after
        case prog.Loop():
            return live_in_loop(s, after, kinds)
        case prog.Guard(body=body):
            return after | live_before(body, after, kinds)
        case prog.Region(loop=body) | prog.Block(body=body):
            return live_before(body, after, kinds)
        case prog.Effect(call=call):
            return live_before(call, after, kinds)
        case prog.Call(args=args, results=results) | prog.Host(args=args, results=results):
            return (
                (after - _overwritten(results, kinds))
                | _touched(args)
                | _partly_written(results, kinds)
            )
        case prog.Free(cells=cells):
            return after - _overwritten(cells, kinds)
        case prog.Load() | prog.Evict() | prog.Chunk():
            return after
        case _:
            assert_never(s)


def live_in_loop(loop: prog.Loop, after: StoreNames, kinds: StoreKinds) -> StoreNames:
    """The stores that are live before each step of a loop, given those live ``after`` the loop."""
    return after | (live_before(loop.body, frozenset(), kinds) - kinds.local_to(loop))


def changed_stores(
    s: prog.ProgramStatement, after: StoreNames, kinds: StoreKinds
) -> tuple[str, ...]:
    """The stores that a statement writes and that are live ``after`` it, in order.

    A store of several arrays counts as live.
    """
    return tuple(n for n in written_stores(s) if n in after or n not in kinds.single)


def live_after_each(
    items: Sequence[prog.ProgramStatement], after: StoreNames, kinds: StoreKinds
) -> Iterator[tuple[prog.ProgramStatement, StoreNames]]:
    """The statements of a sequence, each with the stores that are live after it."""
    live_sets = [after]
    for item in reversed(items):
        live_sets.append(live_before(item, live_sets[-1], kinds))
    return zip(items, live_sets[-2::-1], strict=True)


def _overwritten(cells: Sequence[prog.Cell], kinds: StoreKinds) -> StoreNames:
    return frozenset(c.store for c in cells if c.when is None and c.store in kinds.single)


def _partly_written(cells: Sequence[prog.Cell], kinds: StoreKinds) -> StoreNames:
    return _touched(cells) - _overwritten(cells, kinds)


def _touched(cells: Sequence[prog.Cell]) -> StoreNames:
    return frozenset(c.store for c in cells)
