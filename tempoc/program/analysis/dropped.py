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
    checker = _Dropped(registers({s.name: s for s in program.stores}))
    lost = checker.after(program.tree, frozenset())
    checker.read("the end of the run", (o.store for o in program.outputs), lost)


class _Dropped:
    """Follows which stores of one array have lost what was in them; ``single`` are all of these."""

    def __init__(self, single: StoreNames) -> None:
        self.single = single

    def after(self, s: nodes.ProgramStatement, lost: StoreNames) -> StoreNames:
        """What is lost after a statement."""
        match s:
            case nodes.Sequence(items=items):
                for k, item in enumerate(items):
                    if isinstance(item, nodes.Evict) and item.dead:
                        lost |= self.dropped(item, items[k + 1 :])
                    lost = self.after(item, lost)
                return lost
            case nodes.Loop(body=body):
                # What a step loses the next one may read; a third would lose no more.
                lost |= self.after(body, lost)
                return lost | self.after(body, lost)
            case nodes.Guard(body=body):
                return lost | self.after(body, lost)
            case nodes.Effect(call=call):
                return self.after(call, lost)
            case nodes.Call(kernel=name, args=args, results=results):
                return self.called(f"call of {name}", args, results, lost)
            case nodes.Host(extern=name, args=args, results=results):
                return self.called(f"call of {name}", args, results, lost)
            case nodes.Region(loop=body) | nodes.Block(body=body):
                return self.after(body, lost)
            case nodes.Free(cells=cells):
                return lost - {c.store for c in cells if c.when is None}
            case nodes.Load() | nodes.Evict():
                return lost
            case _:
                assert_never(s)

    def dropped(self, s: nodes.Evict, items: Sequence[nodes.ProgramStatement]) -> StoreNames:
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

    def called(
        self,
        where: str,
        taken: Iterable[nodes.Cell],
        written: Iterable[nodes.Cell],
        lost: StoreNames,
    ) -> StoreNames:
        """What is lost after something that takes some cells and writes others as a whole."""
        self.read(where, (c.store for c in taken), lost)
        return lost - {c.store for c in written if c.when is None}

    def read(self, where: str, names: Iterable[str], lost: StoreNames) -> None:
        """None of these stores is lost."""
        for name in names:
            if name in lost:
                raise inconsistent(where, f"{name} was dropped before, and not written since")
