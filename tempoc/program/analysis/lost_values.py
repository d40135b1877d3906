"""Verifies evictions without a copy (drops): no dropped value is read.

A dropped cell loses its value on the device and on the host. That is correct in two cases: the cell
is freed right afterwards (the proof of the memory plan shows that a freed cell has no reader), or
its store is a single array that is completely overwritten before its next read. The second is
checked here for all bounds: for any number of loop steps, any outcome of guards, and the end of the
run. Independent of ``offload``, which inserts the drops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from tempoc.program.analysis.live import StoreNames, single_array_stores
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.errors import inconsistent


def verify_no_lost_reads(program: prog.Program) -> None:
    """Check a program. Raises ``ProgramError`` for a drop of a value that may be read later."""
    if not any(isinstance(s, prog.Evict) and s.dead for s in statements_in(program.tree)):
        return
    checker = _DropChecker(single_array_stores({s.name: s for s in program.stores}))
    lost = checker.lost_after(program.tree, frozenset())
    checker.check_reads("the end of the run", (o.store for o in program.outputs), lost)


class _DropChecker:
    """A forward dataflow analysis of dropped stores; ``single`` are the stores of one array."""

    def __init__(self, single: StoreNames) -> None:
        self.single = single
        # Loops in loops are not analysed twice for each loop around them.
        self.after: dict[tuple[prog.ProgramStatement, StoreNames], StoreNames] = {}

    def lost_after(self, s: prog.ProgramStatement, lost: StoreNames) -> StoreNames:
        """The stores without a value after a statement."""
        match s:
            case prog.Sequence(items=items):
                for k, item in enumerate(items):
                    if isinstance(item, prog.Evict) and item.dead:
                        lost |= self.lost_by(item, items[k + 1 :])
                    lost = self.lost_after(item, lost)
                return lost
            case prog.Loop(body=body):
                # The next step may read what a step drops; the second one reaches the fixpoint.
                key = body, lost
                if key not in self.after:
                    once = lost | self.lost_after(body, lost)
                    self.after[key] = once | self.lost_after(body, once)
                return self.after[key]
            case prog.Guard(body=body):
                return lost | self.lost_after(body, lost)
            case prog.Effect(call=call):
                return self.lost_after(call, lost)
            case prog.Call(kernel=name, args=args, results=results):
                return self.after_call(f"call of {name}", args, results, lost)
            case prog.Host(extern=name, args=args, results=results):
                return self.after_call(f"call of {name}", args, results, lost)
            case prog.Region(loop=body) | prog.Block(body=body):
                return self.lost_after(body, lost)
            case prog.Free(cells=cells):
                return lost - {c.store for c in cells if c.when is None}
            case prog.Load() | prog.Evict() | prog.Chunk():
                return lost
            case _:
                assert_never(s)

    def lost_by(self, s: prog.Evict, items: Sequence[prog.ProgramStatement]) -> StoreNames:
        """The stores that an eviction drops and that the statements right after it do not free."""
        freed: list[prog.Cell] = []
        for item in items:
            if not isinstance(item, prog.Free):
                break
            freed += item.cells
        names = frozenset(c.store for c in s.cells if c not in freed)
        for name in sorted(names - self.single):
            raise inconsistent(f"store {name}", "is dropped, and may be read later")
        return names

    def after_call(
        self,
        where: str,
        args: Iterable[prog.Cell],
        results: Iterable[prog.Cell],
        lost: StoreNames,
    ) -> StoreNames:
        """The stores without a value after a call, which reads all its arguments."""
        self.check_reads(where, (c.store for c in args), lost)
        return lost - {c.store for c in results if c.when is None}

    def check_reads(self, where: str, names: Iterable[str], lost: StoreNames) -> None:
        """Raises ``ProgramError`` if one of these stores has no value."""
        for name in names:
            if name in lost:
                raise inconsistent(where, f"{name} was dropped before, and not written since")
