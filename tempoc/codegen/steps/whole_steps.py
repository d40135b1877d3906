"""Lets the last step of a device loop do what all others do, where that does no harm.

::

    for i in range(0, N):                    for i in range(0, N):
        loss = error(w)                          loss = error(w)
        if i < N - 1:                 ->         w = update(w)
            w = update(w)

XLA fuses nothing across a branch, and compiles each as a function of its own: steps of training
took up to a fifth longer. What is made too much nothing reads, or it is not written; what is
checked of it does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from tempoc.codegen.steps.at_steps import Items, fails_at_last, step_count
from tempoc.codegen.steps.leaves import Around, freed, leaves
from tempoc.codegen.steps.matched_steps import StepMatch
from tempoc.codegen.steps.spares import Spares
from tempoc.program.analysis.traversal import touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts


def with_whole_last_step(
    loop: prog.Loop, before: Items, after: Items, around: Around, spares: Spares
) -> prog.Loop:
    """The loop, a plain one on the device, without conditions that fail at its last step alone.

    It stands between statements of a sequence, ``before`` and ``after`` it.
    """
    last = ix.sub(loop.upper, ix.Const(loop.step))
    inside = ix.compare("<" if loop.step > 0 else ">", ix.Sym(loop.var), last)

    def is_spare(condition: ix.Expr) -> bool:
        """Whether a condition fails at the last step, and at no other."""
        return fails_at_last(condition, loop)

    body = leaves(loop.body, {}, around.known)
    own = {k: leaf.statement for k, leaf in enumerate(body) if not any(map(is_spare, leaf.when))}
    match = StepMatch(body=body, matched=own, inner={}, left=())
    extra = [leaf.statement for leaf in match.extra]
    if not extra or spares.counts(extra, [*own.values()], step_count(loop)):
        return loop
    wrong = spares.spoiled(match)
    gone = freed([loop.body])
    if wrong is None or any(gone & touched_stores(s) for s in extra):
        return loop
    preserved = wrong & spares.needed(before, loop, after, around)
    made = ((s, c.store) for s in extra if isinstance(s, prog.Call) for c in s.results)
    if not all(spares.context.fills(s, store) for s, store in made if store in preserved):
        return loop  # All of the array would be selected.
    if not spares.may_keep(extra, [*own.values()], preserved):
        return loop
    several = spares.several(step_count(loop) - 1, around.known)
    opener = _Opener(is_spare, inside, several, preserved, spares)
    return replace(loop, body=opener.convert(loop.body))


@dataclass(frozen=True, slots=True)
class _Opener:
    """Takes spare conditions from statements.

    Outside of the steps that are ``inside`` they do not write what is ``preserved``. ``several``
    holds if there are such steps.
    """

    is_spare: Callable[[ix.Expr], bool]
    inside: ix.Expr
    several: ix.Expr
    preserved: Collection[str]
    spares: Spares

    def convert(self, s: prog.ProgramStatement, is_extra: bool = False) -> prog.ProgramStatement:
        """The statement; ``is_extra`` if a spare condition held for it."""
        match s:
            case prog.Sequence(items=items):
                return replace(s, items=tuple(self.convert(item, is_extra) for item in items))
            case prog.Loop(body=body) if is_extra:
                return replace(s, body=self.convert(body, is_extra))
            case prog.Guard(condition=condition, body=body):
                parts = conjuncts(condition)
                others = tuple(c for c in parts if not self.is_spare(c))
                new = self.convert(body, is_extra or len(others) < len(parts))
                return prog.Guard(condition=ix.conjunction(*others), body=new) if others else new
            case prog.Call() if is_extra:
                return self.spares.conditional(s, self.preserved, self.inside, self.several)
            case _:
                return s
