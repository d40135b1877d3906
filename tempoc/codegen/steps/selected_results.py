"""Branches in the steps of a device loop that become results which are selected.

::

    for i in range(0, N):                    for i in range(0, N):
        g = gradient(w)                          g = gradient(w)
        if i >= 1:                               m = average(m, g) if i >= 1
            m = average(m, g)         ->         m = start(g) if i == 0
        if i == 0:                               w = update(m, w)
            m = start(g)
        w = update(m, w)

XLA fuses nothing across a branch, and compiles it as a function of its own. Selected is what
computes each element by itself, of whole arrays: in all steps but one, or in one of them where
another statement writes the same. What happens every now and then stays a branch: a target network
that is renewed in each twentieth step took twice as long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tempoc.codegen.regions.branches import fails_once
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.steps.at_steps import Items, items_of
from tempoc.codegen.steps.kernel_kinds import KernelKinds, ResultSelection
from tempoc.program.analysis.live import written_stores
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import symbols


def selected_results(
    tree: prog.ProgramStatement, context: ProgramContext, kinds: KernelKinds
) -> prog.ProgramStatement:
    """The tree without branches in device loops whose results may as well be selected."""
    return _Selector(ResultSelection(context=context, kinds=kinds)).convert(tree, None)


@dataclass(frozen=True, slots=True)
class _Selector:
    """Converts trees."""

    select: ResultSelection

    def convert(self, s: prog.ProgramStatement, loop: prog.Loop | None) -> prog.ProgramStatement:
        """The tree; ``loop`` is the innermost one on the device around it."""
        match s:
            case prog.Sequence(items=items):
                items = tuple(self.convert(item, loop) for item in items)
                if loop is not None:
                    for k, item in enumerate(items):
                        others = (*items[:k], *items[k + 1 :])
                        items = (*items[:k], self.branch(item, others, loop), *items[k + 1 :])
                return replace(s, items=items)
            case prog.Guard(body=body):
                return replace(s, body=self.convert(body, loop))
            case prog.Loop(body=body, place="device", limit=None):
                return replace(s, body=self.convert(body, s))
            case prog.Loop(body=body):
                return replace(s, body=self.convert(body, None))
            case _:
                return s

    def branch(
        self, s: prog.ProgramStatement, others: Items, loop: prog.Loop
    ) -> prog.ProgramStatement:
        """A statement beside others in a step of a loop, without its condition if that pays."""
        if not isinstance(s, prog.Guard) or loop.var not in symbols(s.condition):
            return s
        select = self.select
        made = [(call, cell.store) for call in calls(s.body) for cell in call.results]
        if not all(select.context.fills(call, store) for call, store in made):
            return s
        if not all(fails_once(part, loop, select.context) for part in conjuncts(s.condition)):
            written = {store for other in others for store in written_stores(other)}
            once = _holds_once(s.condition, loop, select.context)
            if not once or not {*written_stores(s.body)} <= written:
                return s
        parts = [select.conditional(part, s.condition) for part in items_of(s.body)]
        new = tuple(part for part in parts if part is not None)
        return prog.Sequence(items=new) if len(new) == len(parts) else s


def _holds_once(condition: ix.Expr, loop: prog.Loop, context: ProgramContext) -> bool:
    """Whether a condition is known to hold in one step of a loop at most."""
    if all(fails_once(part, loop, context) for part in conjuncts(ix.negation(condition))):
        return True
    return any(_names_a_step(part, ix.Sym(loop.var)) for part in conjuncts(condition))


def _names_a_step(condition: ix.Expr, step: ix.Sym) -> bool:
    """Whether a condition is an equation with one solution for a step."""
    if not isinstance(condition, ix.Relation) or condition.op != "==":
        return False
    gap = ix.sub(condition.left, condition.right)
    rests = ix.sub(gap, step), ix.add(gap, step)
    return any(step.name not in symbols(rest) for rest in rests)
