"""Branches in the steps of a loop that are selected rather than taken.

A ``lax.cond`` in each step of a loop costs more than a small computation, and XLA fuses nothing
across it. What all steps but one do may as well be computed in that one, too, and its results be
dropped (``selected_if`` in `prelude.py`), as the next state behind the last step::

    S = jnp.where(S_end > 0, S_end, at[0])
    (y, h) = selected_if(s < S - 1, taken, (y, h))

And calls that become branches, so that XLA fuses nothing across them (``in_branch``).
"""

from __future__ import annotations

from collections.abc import Callable

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.lengths import ended_lengths
from tempoc.program.analysis.traversal import calls, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts


def is_selected(guard: prog.Guard, loop: prog.Loop | None, context: ProgramContext) -> bool:
    """Whether the body of a guard in a loop may be computed even where the condition fails.

    It has no effect but its results, and the condition fails at the first or the last step only.
    """
    parts = [*statements_in(guard.body)]
    plain = all(isinstance(s, prog.Sequence | prog.Call | prog.Free) for s in parts)
    if loop is None or not plain or ended_lengths(guard.body):
        return False
    if any(context.kernels[call.kernel].checks for call in calls(guard.body)):
        return False
    return all(fails_once(part, loop, context) for part in conjuncts(guard.condition))


def is_read_as_changed(call: prog.Call, loop: prog.Loop | None, context: ProgramContext) -> bool:
    """Whether a call in a loop changes a place of arrays that others read later in the step.

    All of its results are then arrays that it is given. Who reads the arrays before their change
    makes XLA copy nothing. A call for the next step, as the loop is rotated, changes what that one
    reads.
    """
    given = {cell.store for cell in call.args}
    changed = context.changed.get(call.kernel, frozenset()) & given
    if loop is None or not changed or call.endings:
        return False
    if any(cell.store not in given or cell.when is not None for cell in call.results):
        return False
    step = [*calls(loop.body)]
    own = [k for k, c in enumerate(step) if c is call]
    is_ahead = ix.add(ix.Sym(loop.var), ix.Const(loop.step)) in call.point
    later = step if is_ahead else step[own[-1] + 1 :] if own else []
    readers = (other for other in later if other is not call)
    return any(cell.store in changed for other in readers for cell in other.args)


def fails_once(condition: ix.Expr, loop: prog.Loop, context: ProgramContext) -> bool:
    """Whether a comparison fails at the first or the last step of a loop at most."""
    gap = _excess(condition)
    if gap is None or loop.step != 1:
        return False
    ended = ended_lengths(loop) if context.lengths else ()  # goes through all statements
    step, ends = ix.Sym(loop.var), (loop.upper, loop.limit, *ended)
    before_last = (ix.sub(end, step + 2) for end in ends if end is not None)
    after_first = ix.sub(step - 1, loop.lower)
    spare = (ix.sub(gap, least) for least in (after_first, *before_last))
    return any(isinstance(e, ix.Const) and e.value >= 0 for e in spare)


def _excess(condition: ix.Expr) -> ix.Expr | None:
    """What is at least 0 where a comparison holds; ``None`` for another condition."""
    if not isinstance(condition, ix.Relation):
        return None
    gap = ix.sub(condition.right, condition.left)
    match condition.op:
        case "<=":
            return gap
        case "<":
            return gap - 1
        case ">=":
            return ix.sub(ix.ZERO, gap)
        case ">":
            return ix.sub(ix.Const(-1), gap)
        case _:
            return None


def static_part(condition: ix.Expr, is_static: Callable[[ix.Expr], bool]) -> ix.Expr:
    """What follows from a condition, of static parts alone; ``TRUE`` if that is nothing."""
    if is_static(condition):
        return condition
    match condition:
        case ix.Conjunction(args=args):
            return ix.conjunction(*(static_part(a, is_static) for a in args))
        case ix.Disjunction(args=args):
            return ix.disjunction(*(static_part(a, is_static) for a in args))
        case _:
            return ix.TRUE
