"""Files that a device loop saves at every so many steps: the host saves them between its calls.

::

    for i in 0..I on device:
      g[i]
      if i % 100 == 99:
        save.w[i]
      w.1[i]

A call of this loop ends before such a step, and the next one begins with it; or it ends with the
step, if that makes what is saved (``codegen/regions/effects.py``).
"""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.schedule.tree import (
    Execute,
    ScheduleTree,
    TreeGuard,
    TreeLoop,
    TreeSequence,
    executed,
)
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import symbols


def remainder(condition: ix.Expr, var: str) -> tuple[ix.Expr, int] | None:
    """``r`` and ``n`` if a condition holds only where ``var % n == r``."""
    here = ix.Sym(var)
    for part in conjuncts(condition):
        match part:
            case ix.Relation(op="==", left=ix.Mod(arg=arg, divisor=n), right=right):
                for sign in (1, -1):
                    rest = ix.mod(arg - here * sign, n)
                    if var not in (*symbols(rest), *symbols(right)):
                        return ix.mod((right - rest) * sign, n), n
    return None


def saved_between(loop: TreeLoop, saves: frozenset[str]) -> frozenset[str]:
    """The statements among the ``saves`` in a loop that the host may execute between its calls.

    They happen at every so many of its steps, in no loop that does something else as well.
    """
    here, others = set[str](), set[str]()
    for statement, condition in _executed(loop.body, ix.TRUE, saves):
        periodic = loop.step == 1 and remainder(condition, loop.var) is not None
        (here if periodic else others).add(statement)
    return saves & (here - others)


def _executed(
    tree: ScheduleTree, condition: ix.Expr, saves: frozenset[str]
) -> Iterator[tuple[str, ix.Expr]]:
    """The statements in a tree, each with the condition around it.

    It is none in a loop that does not only save files: there it is at a step within the step.
    """
    match tree:
        case Execute(statement=statement):
            yield statement, condition
        case TreeSequence(items=items):
            for item in items:
                yield from _executed(item, condition, saves)
        case TreeGuard(body=body):
            yield from _executed(body, ix.conjunction(condition, tree.condition), saves)
        case TreeLoop(body=body, var=var):
            alone = saves.issuperset(e.statement for e in executed(body))
            for statement, inside in _executed(body, condition, saves):
                outside = [c for c in conjuncts(inside) if var not in symbols(c)]
                yield statement, ix.conjunction(*outside) if alone else ix.TRUE
