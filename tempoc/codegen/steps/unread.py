"""Leaves out calls of which nothing reads a result.

A last step often computes a gradient of which no weights are made any more: trimming the points of
gradients would divide kernels that have the same points now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.program.analysis.traversal import touched_stores
from tempoc.program.nodes import nodes as prog

Stores = frozenset[str]


def without_unread(
    tree: prog.ProgramStatement, context: ProgramContext, outputs: Collection[str]
) -> prog.ProgramStatement:
    """The tree without calls whose results nothing reads; ``outputs`` are read after it.

    Calls that check, end a length or make room are kept.
    """
    later = ReadLater(context.kernels, context.registers)
    new, _ = later.without_unread(tree, frozenset(outputs))
    return new or prog.Sequence(items=())


@dataclass(frozen=True, slots=True)
class ReadLater:
    """Which stores are read later, going through trees backwards; the fields are the context's."""

    kernels: Mapping[str, prog.Kernel]
    registers: Stores

    def before(self, s: prog.ProgramStatement, after: Stores) -> Stores:
        """The stores that are read from a statement on, given those that are read after it."""
        return self.without_unread(s, after)[1]

    def without_unread(
        self, s: prog.ProgramStatement, after: Stores
    ) -> tuple[prog.ProgramStatement | None, Stores]:
        """What is left of a statement, and the stores that are read from it on.

        ``after`` are those that are read after it. A store of several arrays is one of them as long
        as any is.
        """
        match s:
            case prog.Sequence(items=items):
                statements: list[prog.ProgramStatement] = []
                for item in reversed(items):
                    new, after = self.without_unread(item, after)
                    statements += [] if new is None else [new]
                return (replace(s, items=tuple(statements[::-1])) if statements else None), after
            case prog.Guard(body=body):
                new, inside = self.without_unread(body, after)
                return (None if new is None else replace(s, body=new)), after | inside
            case prog.Loop(body=body):
                read = after
                new, inside = self.without_unread(body, read)
                while not inside <= read:
                    read |= inside
                    new, inside = self.without_unread(body, read)
                return (None if new is None else replace(s, body=new)), read
            case prog.Call(args=args, results=results):
                if not self.is_needed(s, after):
                    return None, after
                given = frozenset(c.store for c in args)
                made = (c.store for c in results if c.when is None and c.store in self.registers)
                return s, (after - frozenset(made)) | given
            case _:
                return s, after if isinstance(s, prog.Free) else after | touched_stores(s)

    def is_needed(self, call: prog.Call, after: Stores) -> bool:
        """Whether a call does more than to make what nothing reads."""
        if call.endings or call.needs or self.kernels[call.kernel].checks:
            return True
        return not after.isdisjoint(c.store for c in call.results)
