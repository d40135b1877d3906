"""The occurrences of statements in a schedule tree, with their conditions and times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tempoc.poly.scheduling.timeline import Occurrence
from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class _TreePosition:
    """The position of a subtree: enclosing loop variables, conditions, and time so far."""

    variables: tuple[str, ...] = ()
    where: ix.Expr = ix.TRUE
    time: tuple[ix.Expr, ...] = ()


def occurrences(tree: ScheduleTree) -> Iterator[Occurrence]:
    """Every `Execute` with its loops, in order."""
    yield from _walk(tree, _TreePosition())


def _walk(tree: ScheduleTree, at: _TreePosition) -> Iterator[Occurrence]:
    match tree:
        case TreeSequence(items=items):
            for k, item in enumerate(items):
                yield from _walk(item, _descend(at, time=(ix.Const(k),)))
        case TreeGuard(condition=condition, body=body):
            yield from _walk(body, _descend(at, where=condition))
        case TreeLoop(var=var, body=body, step=step):
            clock = ix.Sym(var) if step > 0 else ix.Sym(var) * -1
            # A loop directly in another one adds no sequence position to the time.
            yield from _walk(
                body, _descend(at, variables=(var,), where=_range(tree), time=(clock,))
            )
        case Execute(statement=name, point=point):
            yield Occurrence(
                task=name, variables=at.variables, where=at.where, point=point, time=at.time
            )


def _descend(
    at: _TreePosition,
    *,
    variables: tuple[str, ...] = (),
    where: ix.Expr = ix.TRUE,
    time: tuple[ix.Expr, ...] = (),
) -> _TreePosition:
    return _TreePosition(
        variables=at.variables + variables,
        where=ix.conjunction(at.where, where),
        time=at.time + time,
    )


def _range(loop: TreeLoop) -> ix.Expr:
    var, step = ix.Sym(loop.var), loop.step
    if step > 0:
        range_conditions = ix.compare(">=", var, loop.lower), ix.compare("<", var, loop.upper)
    else:
        range_conditions = ix.compare("<=", var, loop.lower), ix.compare(">", var, loop.upper)
    stride = ix.compare("==", ix.mod(ix.sub(var, loop.lower), abs(step)), ix.Const(0))
    return ix.conjunction(*range_conditions, stride)
