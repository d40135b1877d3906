"""Dead eviction elimination: cells that are dead are dropped instead of copied to the host.

    evict h[k], g[k]                          evict h[k]
    ...                                       drop g[k]
    g[k+1] = ...                              ...
                                              g[k+1] = ...

A cell is dead if its store is a single array that is overwritten before it is read, or if it is
freed next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from tempoc.program.analysis.live import (
    StoreKinds,
    StoreNames,
    live_after_each,
    live_in_loop,
    single_array_stores,
)
from tempoc.program.nodes import nodes as prog


def drop_dead_evictions(program: prog.Program) -> prog.Program:
    """The same program with fewer copies."""
    kinds = StoreKinds(single=single_array_stores({s.name: s for s in program.stores}))
    given = [i.store for i in program.inputs] + [p.store for p in program.params]
    outputs = frozenset(o.store for o in program.outputs)
    dropper = _Dropper(kinds=kinds, pinned=frozenset(given))
    return replace(program, tree=dropper.within(program.tree, outputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dropper:
    kinds: StoreKinds
    pinned: Collection[str]

    def within(self, s: prog.ProgramStatement, after: StoreNames) -> prog.ProgramStatement:
        """A statement after which the stores in ``after`` are live."""
        match s:
            case prog.Sequence(items=items):
                statements: list[prog.ProgramStatement] = []
                for k, (item, later) in enumerate(live_after_each(items, after, self.kinds)):
                    if isinstance(item, prog.Evict):
                        statements += self.evict(item, later, items[k + 1 :])
                    else:
                        statements.append(self.within(item, later))
                return prog.Sequence(items=(*statements,))
            case prog.Loop(body=body):
                return replace(s, body=self.within(body, live_in_loop(s, after, self.kinds)))
            case prog.Guard(body=body):
                return replace(s, body=self.within(body, after))
            case _:
                return s

    def evict(
        self, s: prog.Evict, later: StoreNames, items: tuple[prog.ProgramStatement, ...]
    ) -> Iterator[prog.ProgramStatement]:
        """An eviction, split into the live cells and the dead ones."""
        freed = {*_freed_next(items)}
        dead = [
            cell
            for cell in s.cells
            if cell.store not in self.pinned
            and (cell in freed or (cell.store in self.kinds.single and cell.store not in later))
        ]
        left = tuple(cell for cell in s.cells if cell not in dead)
        if left:
            yield prog.Evict(cells=left)
        if dead:
            yield prog.Evict(cells=(*dead,), dead=True)


def _freed_next(items: tuple[prog.ProgramStatement, ...]) -> Iterator[prog.Cell]:
    """The cells that the directly following frees release."""
    for item in items:
        if not isinstance(item, prog.Free):
            return
        yield from item.cells
