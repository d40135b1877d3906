"""Lets the last step of a device loop write what nothing reads after it, as all others do.

::

    for k in range(0, N):                              for k in range(0, N):
        w[k], s[k + 1] if k + 1 < N = step(s[k])  ->       w[k], s[k + 1] = step(s[k])

A result that is written in all steps but the last is selected: an operation on the whole array in
every step, and a copy of it where it is large, as XLA cannot make it in place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from tempoc.codegen.steps.at_steps import Items
from tempoc.codegen.steps.leaves import Around, Leaf, freed, leaves, reads
from tempoc.codegen.steps.spares import Spares
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts

Spare = Callable[[ix.Expr], bool]


def with_whole_results(
    loop: prog.Loop, before: Items, after: Items, around: Around, spares: Spares, is_spare: Spare
) -> prog.Loop:
    """The loop, a plain one on the device, whose results are selected at its last step less often.

    ``is_spare`` tells conditions that fail at the last step alone. The loop stands between
    statements of a sequence, ``before`` and ``after`` it. Only stores of one array are looked at:
    of others the last step would write one that may not be there.
    """
    body = leaves(loop.body, {}, around.known)
    later = {
        cell.store: body[k + 1 :]
        for k, leaf in reversed([*enumerate(body)])
        if isinstance(leaf.statement, prog.Call)
        for cell in leaf.statement.results
        if cell.when is not None and any(map(is_spare, conjuncts(cell.when)))
    }
    stores = {s for s, rest in later.items() if not _is_read(s, rest, is_spare)}
    stores &= spares.context.registers - freed([loop.body])
    if stores:
        stores -= spares.needed(before, loop, after, around)
    return (
        replace(loop, body=_ResultOpener(is_spare, stores).convert(loop.body)) if stores else loop
    )


def _is_read(store: str, later: Sequence[Leaf], is_spare: Spare) -> bool:
    """Whether statements that run in the last step as well read a store."""
    last = (leaf.statement for leaf in later if not any(map(is_spare, leaf.when)))
    return any(store == name for s in last for name, _ in reads(s))


@dataclass(frozen=True, slots=True)
class _ResultOpener:
    """Takes spare conditions from what calls write into some stores."""

    is_spare: Spare
    stores: Collection[str]

    def convert(self, s: prog.ProgramStatement) -> prog.ProgramStatement:
        """The statement; loops within it stay as they are."""
        match s:
            case prog.Sequence(items=items):
                return replace(s, items=tuple(map(self.convert, items)))
            case prog.Guard(body=body):
                return replace(s, body=self.convert(body))
            case prog.Call(results=results):
                return replace(s, results=tuple(map(self.result, results)))
            case _:
                return s

    def result(self, cell: prog.Cell) -> prog.Cell:
        """A result, which is written in the last step as well if its store is one of those."""
        if cell.when is None or cell.store not in self.stores:
            return cell
        others = [c for c in conjuncts(cell.when) if not self.is_spare(c)]
        return replace(cell, when=ix.conjunction(*others) if others else None)
