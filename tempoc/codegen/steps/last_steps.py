"""Puts the last step of a device loop, which stands behind it, into the loop.

::

    for i in range(0, N - 1):                for i in range(0, N):
        loss = error(w)                          loss = error(w)
        w = update(w)                 ->         w = update(w)
    loss = error(w)

A last step often makes a part of what the others make, as a loss without new weights, and XLA would
compile that part twice. It becomes a step like the others where nothing reads what is then made too
much; what is checked of that does not count, and what is read is not overwritten. A loop that has
the end of a step before it begins with that (`RotatedLoop`), if its last step then does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import takewhile

from tempoc.base.cost_model import MODEL
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.effects import print_kernels
from tempoc.codegen.steps.at_steps import (
    Conditions,
    Items,
    collects,
    is_known,
    is_plain,
    items_of,
    resolved,
    stays,
    step_count,
)
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.leaves import Around, freed, leaves
from tempoc.codegen.steps.matched_steps import matched_step, placed, rotated
from tempoc.codegen.steps.spares import Spares
from tempoc.codegen.steps.whole_steps import with_whole_last_step
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts


def last_steps(
    tree: prog.ProgramStatement,
    context: ProgramContext,
    outputs: Collection[str],
    kinds: KernelKinds | None = None,
) -> prog.ProgramStatement:
    """The tree with last steps in their loops; ``outputs`` are stores that are read after it."""
    positive = tuple(ix.compare(">=", ix.Sym(bound), ix.ONE) for bound in context.bounds)
    ends = _EndRoller(
        context, Spares(context=context, outputs=outputs, kinds=kinds or KernelKinds())
    )
    return ends.convert(tree, Around(known=positive))


@dataclass(frozen=True, slots=True)
class _EndRoller:
    """Converts trees."""

    context: ProgramContext
    spares: Spares

    def convert(self, s: prog.ProgramStatement, around: Around) -> prog.ProgramStatement:
        """The tree with longer loops."""
        match s:
            case prog.Sequence(items=items):
                items = self.lengthened(items, around)  # while both have the same inner loops
                for k, item in enumerate(items):
                    before = items[:k] if around.looped else ()
                    new = self.convert(item, around.beside((*before, *items[k + 1 :])))
                    items = (*items[:k], new, *items[k + 1 :])
                if items != s.items:
                    items = self.lengthened(items, around)
                return replace(s, items=items)
            case prog.Guard(condition=condition, body=body):
                known = (*around.known, *conjuncts(condition))
                return replace(s, body=self.convert(body, replace(around, known=known)))
            case prog.Loop(body=body, place=place):
                if place == "host" and around.outer is not None:
                    inside = replace(around, outer=(*around.outer, s.var), looped=True)
                    return replace(s, body=self.convert(body, inside))
                if around.outer is not None and not stays(s, around.outer, self.context):
                    return s
                inside = replace(around, outer=None, looped=True)
                return replace(s, body=self.convert(body, inside))
            case _:
                return s

    def lengthened(self, items: Items, around: Around) -> Items:
        """The statements of a sequence, the last steps of loops among them in these."""
        k = 0
        while k < len(items):
            loop, longer, before, after = items[k], None, items[:k], items[k + 1 :]
            moved = isinstance(loop, prog.Loop) and self.is_moved(loop, around)
            if isinstance(loop, prog.Loop) and moved and after:
                longer = self.longer(before, loop, after, around)
            if longer is None and isinstance(loop, prog.Loop) and moved and is_plain(loop):
                new = self.rotated(before, loop, after, around)
                if new is not None:
                    before, longer = new
                    k = len(before)
            if longer is None:
                if isinstance(loop, prog.Loop) and moved:
                    loop = with_whole_last_step(loop, before, after, around, self.spares)
                items = (*before, loop, *after)
                k += 1
            else:
                items = (*before, *longer)
        return items

    def is_moved(self, loop: prog.Loop, around: Around) -> bool:
        """Whether a loop runs on the device, step by step, and does nothing else there."""
        if loop.place != "device" or abs(loop.step) != 1:
            return False
        if around.outer is None:
            return is_plain(loop)
        plain = is_plain(loop) or collects(loop, self.context)
        return plain and stays(loop, around.outer, self.context)

    def longer(self, before: Items, loop: prog.Loop, after: Items, around: Around) -> Items | None:
        """A loop with the step behind it, and what follows; ``None`` where there is no such step.

        All that a step does must do no harm in the last one: nothing reads what is made too much.
        """
        gap = step_count(loop)
        first, guard, known, tail = loop.lower, None, around.known, after
        rest: Items = ()
        last: ix.Expr | None = loop.upper
        if isinstance(after[0], prog.Guard):
            last = _last_where(after[0].condition, loop, known)
        if isinstance(after[0], prog.Guard) and last is not None:
            guard = after[0]
            known = (*known, *conjuncts(guard.condition))
            tail, rest = items_of(guard.body), after[1:]
        elif not is_known(ix.compare(">=", gap, ix.ZERO), known):
            first = (ix.minimum if loop.step > 0 else ix.maximum)(loop.lower, loop.upper)
        last = loop.upper if last is None else last
        at = {loop.var: last}
        body = leaves(loop.body, at, known)
        prints = bool(print_kernels(loop))
        step = [*takewhile(lambda s: is_plain(placed(s), prints), tail)]
        behind = (leaf for s in step for leaf in leaves(s, {}, known))
        match = matched_step(body, behind, known)
        own = [*match.matched.values()]
        if self.spares.kinds.size(own) < MODEL.rolled_calls or not match.is_unique:
            return None
        extra = [leaf.statement for leaf in match.extra]
        wrong = self.spares.spoiled(match)
        if wrong is None or self.spares.counts(extra, own, gap):
            return None
        left = (leaf.guarded() for leaf in match.left)
        rest = (*_within(guard, (*left, *tail[len(step) :])), *rest)
        preserved = wrong & self.spares.needed(before, loop, rest, replace(around, known=known))
        if preserved & freed([loop.body]) or not self.spares.may_keep(extra, own, preserved):
            return None
        upper = ix.add(last, ix.Const(loop.step))
        inside = ix.compare("<" if loop.step > 0 else ">", ix.Sym(loop.var), loop.upper)

        def is_extra(s: prog.ProgramStatement) -> bool:
            return any(leaf.statement in extra for leaf in leaves(s, at, known))

        several = self.spares.several(gap, known)
        steps = self.apart(loop.body, is_extra, preserved, inside, several)
        return (replace(loop, lower=first, upper=upper, body=steps), *rest)

    def rotated(
        self, before: Items, loop: prog.Loop, after: Items, around: Around
    ) -> tuple[Items, Items] | None:
        """What stands before a loop, and a loop of rotated steps and what follows it.

        ``None`` where no end of a step stands before it, or the last step would have a condition.
        """
        kinds = self.spares.kinds
        new = rotated(before, loop, after, around.known, kinds.checked)
        if new is None or kinds.size(new.shared) < MODEL.rolled_calls:
            return None
        longer = new.loop
        if not new.is_whole:
            longer = with_whole_last_step(longer, new.before, new.after, around, self.spares)
            if longer == new.loop:
                return None
        return new.before, (longer, *new.after)

    def apart(
        self,
        s: prog.ProgramStatement,
        is_extra: Callable[[prog.ProgramStatement], bool],
        preserved: Collection[str],
        inside: ix.Expr,
        several: ix.Expr,
    ) -> prog.ProgramStatement:
        """A step in which what the last one has too much is checked only ``inside`` the loop.

        Nor does it write what is ``preserved``. As a branch it would cost short steps a tenth. What
        reads arrays that may be empty is done only where there are ``several`` steps.
        """
        match s:
            case prog.Sequence(items=items):
                parts = (self.apart(item, is_extra, preserved, inside, several) for item in items)
                return replace(s, items=tuple(parts))
            case prog.Loop(body=body) if is_extra(s):
                return replace(s, body=self.apart(body, _always, preserved, inside, several))
            case prog.Guard(body=body) | prog.Loop(body=body):
                return replace(s, body=self.apart(body, is_extra, preserved, inside, several))
            case prog.Call() if is_extra(s):
                return self.spares.conditional(s, preserved, inside, several)
            case _:
                return s


def _always(_s: prog.ProgramStatement) -> bool:
    return True


def _within(guard: prog.Guard | None, items: Items) -> Items:
    """Statements under the condition of a guard, if there is one."""
    if guard is None or not items:
        return items
    return (replace(guard, body=prog.Sequence(items=items)),)


def _last_where(condition: ix.Expr, loop: prog.Loop, known: Conditions) -> ix.Expr | None:
    """The step behind a loop that there is just if a condition holds; ``None`` if that is unclear.

    Where the condition fails, the loop is over one step further as well, as up to ``max(1, T - 2)``
    and a step for ``T >= 3`` where ``T >= 2``: ``T - 1`` is the end of both.
    """
    if _decides(condition, step_count(loop), known):
        return loop.upper
    there, else_ = (*known, *conjuncts(condition)), (*known, *conjuncts(ix.negation(condition)))
    last, end = resolved(loop.upper, there), resolved(loop.upper, else_)
    behind = ix.add(last, ix.Const(loop.step))
    ends = (ix.compare(">=", end, behind), ix.compare("<=", end, behind))
    exists = is_known(ix.compare(">=", step_count(replace(loop, upper=last)), ix.ZERO), there)
    is_end = last != loop.upper and all(is_known(c, else_) for c in ends)
    return last if exists and is_end else None


def _decides(condition: ix.Expr, gap: ix.Expr, known: Conditions) -> bool:
    """Whether a number is at least 0 just if a condition holds."""
    holds = ix.compare(">=", gap, ix.ZERO)
    if not is_known(holds, (*known, *conjuncts(condition))):
        return False
    return is_known(ix.negation(holds), (*known, *conjuncts(ix.negation(condition))))
