"""Lines of prints in regions: which points printed, in order, told by the loop of the region.

A call of a region returns the rows that it collected with their steps, but not with their points.
The loops and guards of a step give these again, with the lengths that are known after the call. A
call that has failed has fewer rows: then the first point without one ends the walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tempoc.program.nodes import nodes as prog
from tempoc.runtime.device import backend
from tempoc.runtime.walk.frame import RunFrame
from tempoc.runtime.walk.values import Variables
from tempoc.symbolic.walk import evaluate


def print_rows(frame: RunFrame, region: prog.Region, rows: Sequence[Sequence[Any]]) -> None:
    """Print what a call of a region has collected."""
    arrays = [
        [array[: int(count)] for array in backend.hosts(some)] for count, *some in rows if count
    ]
    steps = {step for at, *_ in arrays for step in at.tolist()}
    names = (name for name, (count, *_) in zip(region.prints, rows, strict=True) if count)
    lines = {name: zip(*some, strict=True) for name, some in zip(names, arrays, strict=True)}
    loop, values = region.loop, {**frame.bounds, **frame.variables}
    for step in sorted(steps, reverse=loop.step < 0):
        values[loop.var] = step
        for effect, point in _prints(loop.body, values):
            line = next(lines.get(effect.call.kernel, iter(())), None)
            if line is None:
                return
            frame.perform(effect, point, line[1:])


def _prints(
    s: prog.ProgramStatement, values: Variables
) -> Iterator[tuple[prog.Effect, tuple[int, ...]]]:
    """The prints of a statement with their points, in order."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _prints(item, values)
        case prog.Guard(condition=condition, body=body):
            if evaluate(condition, values):
                yield from _prints(body, values)
        case prog.Loop(lower=lower, upper=upper, body=body):
            for step in range(evaluate(lower, values), evaluate(upper, values), s.step):
                values[s.var] = step
                yield from _prints(body, values)
        case prog.Effect(call=call):
            yield s, tuple(evaluate(e, values) for e in call.point)
