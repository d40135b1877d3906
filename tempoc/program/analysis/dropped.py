"""What is dropped is read by nobody: an independent check of evictions that copy nothing.

The value of a cell that is dropped is gone from the device and from the host. That is right if the
cell is given back next (that nobody reads it any more then is proved of the memory plan), or if its
store is one array that is written anew before anybody reads it, for all bounds: however often loops
run, whatever guards say, and at the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from tempoc.program.analysis.live import StoreNames, registers
from tempoc.program.nodes import nodes
from tempoc.program.nodes.errors import inconsistent


def verify_dropped(program: nodes.Program) -> None:
    """Check a program. Raises ``ProgramError`` for a drop of what somebody may read."""
    checker = _DropChecker(registers({s.name: s for s in program.stores}))
    dropped = checker.dropped_after(program.tree, frozenset())
    checker.check_reads("the end of the run", (o.store for o in program.outputs), dropped)


class _DropChecker:
    """Follows which stores of one array have lost what was in them; ``single`` are all of these."""

    def __init__(self, single: StoreNames) -> None:
        self.single = single

    def dropped_after(self, s: nodes.ProgramStatement, dropped: StoreNames) -> StoreNames:
        """What is lost after a statement."""
        match s:
            case nodes.Sequence(items=items):
                for k, item in enumerate(items):
                    if isinstance(item, nodes.Evict) and item.dead:
                        dropped |= self.lost_by(item, items[k + 1 :])
                    dropped = self.dropped_after(item, dropped)
                return dropped
            case nodes.Loop(body=body):
                # What a step loses the next one may read; a third would lose no more.
                dropped |= self.dropped_after(body, dropped)
                return dropped | self.dropped_after(body, dropped)
            case nodes.Guard(body=body):
                return dropped | self.dropped_after(body, dropped)
            case nodes.Effect(call=call):
                return self.dropped_after(call, dropped)
            case nodes.Call(kernel=name, args=args, results=results):
                return self.after_call(f"call of {name}", args, results, dropped)
            case nodes.Host(extern=name, args=args, results=results):
                return self.after_call(f"call of {name}", args, results, dropped)
            case nodes.Region(loop=body) | nodes.Block(body=body):
                return self.dropped_after(body, dropped)
            case nodes.Free(cells=cells):
                return dropped - {c.store for c in cells if c.when is None}
            case nodes.Load() | nodes.Evict():
                return dropped
            case _:
                assert_never(s)

    def lost_by(self, s: nodes.Evict, items: Sequence[nodes.ProgramStatement]) -> StoreNames:
        """What an eviction loses that is not given back by the statements that follow at once."""
        freed: list[nodes.Cell] = []
        for item in items:
            if not isinstance(item, nodes.Free):
                break
            freed += item.cells
        names = frozenset(c.store for c in s.cells if c not in freed)
        for name in sorted(names - self.single):
            raise inconsistent(f"store {name}", "is dropped, and may be read later")
        return names

    def after_call(
        self,
        where: str,
        args: Iterable[nodes.Cell],
        results: Iterable[nodes.Cell],
        dropped: StoreNames,
    ) -> StoreNames:
        """What is lost after something that takes some cells and writes others as a whole."""
        self.check_reads(where, (c.store for c in args), dropped)
        return dropped - {c.store for c in results if c.when is None}

    def check_reads(self, where: str, names: Iterable[str], dropped: StoreNames) -> None:
        """None of these stores is lost."""
        for name in names:
            if name in dropped:
                raise inconsistent(where, f"{name} was dropped before, and not written since")
