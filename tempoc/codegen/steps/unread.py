"""Leaves out calls of which nothing reads a result.

A last step often computes a gradient of which no weights are made any more: trimming the points of
gradients would divide kernels that have the same points now. A loop that has nothing but frees then
is left out as well, as the host would go through its steps: each store is freed once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.leaves import Leaf, leaves
from tempoc.program.analysis.traversal import statements_in, touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

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
                return (None if new is None else _without_steps(replace(s, body=new))), read
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


def _without_steps(loop: prog.Loop) -> prog.ProgramStatement | None:
    """Frees alone, each under the condition that a step has it, of a loop that has nothing else.

    The loop itself where it is not known at which step; ``None`` if there is never one.
    """
    parts = statements_in(loop.body)
    only_frees = all(isinstance(p, prog.Sequence | prog.Guard | prog.Free) for p in parts)
    if not only_frees or loop.step != 1 or loop.limit is not None:
        return loop
    freed: list[prog.ProgramStatement] = []
    for leaf in leaves(loop.body, {}, ()):
        step = _step_of(leaf, loop)
        if step is None:
            return loop
        within = ix.compare("<=", loop.lower, step), ix.compare("<", step, loop.upper)
        at_step = leaves(leaf.guarded(), {loop.var: step}, ())
        freed += [replace(f, when=(*within, *f.when)).guarded() for f in at_step]
    return prog.Sequence(items=tuple(freed)) if len(freed) > 1 else next(iter(freed), None)


def _step_of(leaf: Leaf, loop: prog.Loop) -> ix.Expr | None:
    """The only step of a loop that frees something, or the first one if all free the same."""
    assert isinstance(leaf.statement, prog.Free)
    for c in leaf.when:
        if isinstance(c, ix.Relation) and c.op == "==" and c.left == ix.Sym(loop.var):
            return None if loop.var in symbols(c.right) else c.right
    keys = (e for cell in leaf.statement.cells for e in cell.key)
    return None if any(loop.var in symbols(e) for e in (*leaf.when, *keys)) else loop.lower
