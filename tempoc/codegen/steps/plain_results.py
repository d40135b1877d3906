"""Results that the last step of a device loop need not preserve, written in all steps.

::

    for m in range(0, M):                    for m in range(0, M):
        later = update(w)                        later = update(w)
        w = later if m < M - 1        ->         w = later
    w = later                                w = later

Each such result is selected in every step of the loop, so XLA compiles and runs a function more,
and copies a large array, as it cannot be made in place. Nothing reads what the last step leaves
there: something else is written before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import fails_at_last, is_plain
from tempoc.codegen.steps.leaves import freed
from tempoc.codegen.steps.unread import ReadLater, Stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import substitute


def plain_results(
    tree: prog.ProgramStatement, context: ProgramContext, outputs: Collection[str]
) -> prog.ProgramStatement:
    """The tree with fewer conditions on results; ``outputs`` are stores that are read after it."""
    later = ReadLater(context.kernels, context.registers)
    return _PlainResults(later).convert(tree, frozenset(outputs), None)


@dataclass(frozen=True, slots=True)
class _PlainResults:
    """Converts trees backwards."""

    later: ReadLater

    def convert(
        self, s: prog.ProgramStatement, after: Stores, ends: tuple[prog.Loop, Stores] | None
    ) -> prog.ProgramStatement:
        """A statement ``after`` which these stores are read.

        ``ends`` has the loop in whose steps it stands, and what is read after it in the last one;
        what the loop frees counts, too, unless that is what follows in the last step.
        """
        match s:
            case prog.Sequence(items=items):
                new: list[prog.ProgramStatement] = []
                for item in reversed(items):
                    new.append(self.convert(item, after, ends))
                    after = self.later.before(new[-1], after)
                    ends = ends and (ends[0], self.read_at_last(new[-1], *ends))
                return replace(s, items=tuple(new[::-1]))
            case prog.Guard(body=body):
                return replace(s, body=self.convert(body, after, None))
            case prog.Loop(body=body):
                moved = s.place == "device" and abs(s.step) == 1 and is_plain(s)
                ends = (s, after | freed([body])) if moved else None
                return replace(s, body=self.convert(body, self.later.before(s, after), ends))
            case prog.Call() if ends is not None:
                return replace(s, results=tuple(self.written(c, *ends) for c in s.results))
            case _:
                return s

    def read_at_last(self, s: prog.ProgramStatement, loop: prog.Loop, after: Stores) -> Stores:
        """The stores that are read from a statement on in the last step of a loop."""
        match s:
            case prog.Sequence(items=items):
                for item in reversed(items):
                    after = self.read_at_last(item, loop, after)
                return after
            case _ if _is_spare(s, loop):
                return after
            case _:
                return self.later.before(s, after) - _freed_at_last(s, loop)

    def written(self, cell: prog.Cell, loop: prog.Loop, read: Stores) -> prog.Cell:
        """A result, written in the last step as well unless that what it replaces is ``read``."""
        if cell.when is None or cell.store not in self.later.registers - read:
            return cell
        others = [c for c in conjuncts(cell.when) if not fails_at_last(c, loop)]
        return replace(cell, when=ix.conjunction(*others) if others else None)


def _freed_at_last(s: prog.ProgramStatement, loop: prog.Loop) -> Stores:
    """What a statement frees under a condition that holds in the last step of a loop."""
    match s:
        case prog.Guard(condition=condition, body=prog.Free() as free):
            last = ix.sub(loop.upper, ix.Const(loop.step))
            holds = substitute(condition, {loop.var: last}) == ix.TRUE
            return frozenset(freed([free])) if holds else frozenset()
        case _:
            return frozenset()


def _is_spare(s: prog.ProgramStatement, loop: prog.Loop) -> bool:
    """Whether a statement does nothing in the last step of a loop."""
    guard = s.condition if isinstance(s, prog.Guard) else ix.TRUE
    return any(fails_at_last(c, loop) for c in conjuncts(guard))
