"""What a step of a device loop may do although nothing needs it: whether that does harm."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tempoc.base.cost_model import MODEL
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import (
    Conditions,
    Items,
    is_known,
    is_plain,
    is_wrong,
    may_be_empty,
)
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.leaves import Around, freed, reads
from tempoc.codegen.steps.matched_steps import StepMatch
from tempoc.memory.text import cell_bytes
from tempoc.program.analysis.live import written_stores
from tempoc.program.analysis.traversal import calls, overwritten_stores, touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Spares:
    """Judges statements; the fields are arguments of `last_steps`."""

    context: ProgramContext
    outputs: Collection[str]
    kinds: KernelKinds

    def may_keep(
        self,
        extra: Sequence[prog.ProgramStatement],
        own: Sequence[prog.ProgramStatement],
        preserved: set[str],
    ) -> bool:
        """Whether a last step may keep stores that statements write which it has too much.

        Those compute each element by itself, so that XLA selects them while it computes them. What
        others write is few bytes, or a part of an array, of which XLA reads that part as well: no
        reason to count beside statements of its ``own`` that do more.
        """
        made = [(call, c) for s in extra for call in calls(s) for c in call.results]
        written = [(call, cell) for call, cell in made if cell.store in preserved]
        some = not self.are_light(own)
        selects = [self.is_light(s, c) or (some and self.is_small(s, c)) for s, c in written]
        return preserved <= {cell.store for _, cell in written} and all(selects)

    def is_light(self, call: prog.Call, cell: prog.Cell) -> bool:
        """Whether each element is computed by itself, of an array that does not grow."""
        return call.kernel in self.kinds.light and not self.context.stores[cell.store].growing

    def is_small(self, call: prog.Call, cell: prog.Cell) -> bool:
        """Whether what a call writes of a cell is a part of it, or known to take few bytes."""
        store = self.context.stores[cell.store]
        if not self.context.fills(call, cell.store):
            return True
        fixed = {n: ix.Const(v) for n, v in self.context.fixed.items()}
        size = substitute(cell_bytes(store), fixed)
        return isinstance(size, ix.Const) and size.value <= MODEL.copied_bytes

    def several(self, steps: ix.Expr, known: Conditions) -> ix.Expr:
        """The condition that a number of steps is not 0, if bounds decide that."""
        more = ix.compare(">=", steps, ix.ONE)
        is_static = {*symbols(more)} <= {*self.context.bounds}
        return ix.TRUE if is_known(more, known) or not is_static else more

    def conditional(
        self, call: prog.Call, preserved: Collection[str], inside: ix.Expr, several: ix.Expr
    ) -> prog.ProgramStatement:
        """A call that checks, and writes what is ``preserved``, only where a condition holds.

        If it reads arrays that may be empty it is there only if there are ``several`` steps.
        """
        made = tuple(
            replace(c, when=ix.conjunction(inside, c.when or ix.TRUE))
            if c.store in preserved
            else c
            for c in call.results
        )
        checks = bool(self.context.kernels[call.kernel].checks)
        where = ix.conjunction(inside, call.where or ix.TRUE) if checks else call.where
        new = replace(call, results=made, where=where)
        plain = several == ix.TRUE or not may_be_empty(call, self.context)
        return new if plain else prog.Guard(condition=several, body=new)

    def counts(
        self,
        extra: Sequence[prog.ProgramStatement],
        own: Sequence[prog.ProgramStatement],
        gap: ix.Expr,
    ) -> bool:
        """Whether it counts that a last step does what is extra, beside its own statements.

        It does in a loop that is known to have few steps, unless only its own statements do more
        than to compute elements by themselves.
        """
        steps = substitute(gap, {n: ix.Const(v) for n, v in self.context.fixed.items()})
        if not isinstance(steps, ix.Const) or steps.value >= MODEL.repeated_steps:
            return False
        return bool(extra) and (not self.are_light(extra) or self.are_light(own))

    def are_light(self, statements: Sequence[prog.ProgramStatement]) -> bool:
        """Whether all kernels in statements compute each element by itself."""
        return all(call.kernel in self.kinds.light for s in statements for call in calls(s))

    def spoiled(self, step: StepMatch) -> set[str] | None:
        """What is wrong after the last step, as that does not make it; ``None`` if it does harm.

        The last step has only the matched statements of the body, some under a condition.
        """
        wrong: set[str] = set()
        for k, leaf in enumerate(step.body):
            own = step.matched.get(k)
            others = [leaf] if own is None else step.inner.get(k, ())
            if not all(self.is_harmless(other.statement) for other in others):
                return None
            for s in (other.statement for other in others):
                wrong |= touched_stores(s) if isinstance(s, prog.Free) else {*written_stores(s)}
            if own is None:
                continue
            if wrong & {store for store, _ in reads(own)}:
                return None
            if isinstance(own, prog.Call) and not leaf.when:
                args = {c.store for c in own.args}
                made = {c.store for c in own.results if c.when is None}
                wrong -= (made - args) & self.context.registers
        return wrong

    def is_harmless(self, s: prog.ProgramStatement) -> bool:
        """Whether a statement may run although its results do not exist: their arrays do.

        In a loop that stays on the device no key depends on its step. An array that grows has at
        most its final size; what is written beyond it becomes a part of its last row.
        """
        if isinstance(s, prog.Loop):
            return is_plain(s) and all(map(self.is_harmless, calls(s)))
        return isinstance(s, prog.Free) or (isinstance(s, prog.Call) and not s.endings)

    def needed(self, before: Items, loop: prog.Loop, rest: Items, around: Around) -> set[str]:
        """The stores that may be read after a loop, or are freed in it and after it."""
        beside = (*rest, *before) if around.looped else rest
        later = (*around.read, *(r for s in beside for r in reads(s)))
        wrong = cache(lambda c: is_wrong(c, around.known))  # many reads have the same conditions
        read = {store for store, when in later if not any(map(wrong, when))}
        twice = freed([loop.body]) & freed(rest)
        again: set[str] = set()
        if around.looped:
            own = {store for store, _ in reads(loop.body)}
            fresh = overwritten_stores(prog.Sequence(items=before), own)
            whole = fresh | overwritten_stores(loop.body, own)
            again = own - (whole & self.context.registers)
        return {*read, *twice, *again, *self.outputs}
