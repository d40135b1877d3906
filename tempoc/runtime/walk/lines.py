"""Lines of prints in regions: which points printed, in order, told by the loop of the region.

A call of a region returns the rows that it collected with their steps, but not with their points.
The loops and guards of a step give these again, with the lengths that are known after the call. A
call that has failed has fewer rows: then the first point without one ends the walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.device import backend
from tempoc.runtime.walk.frame import RunFrame
from tempoc.runtime.walk.values import Variables
from tempoc.symbolic.walk import evaluate


def print_rows(frame: RunFrame, region: prog.Region, rows: Sequence[Sequence[Any]]) -> None:
    """Print what a call of a region has collected."""
    prints = ((n, c, x) for n, (c, *x) in zip(region.prints, rows, strict=True) if c)
    data = {name: [a[: int(count)] for a in backend.hosts(x)] for name, count, x in prints}
    effects = [e for e in statements_in(region.loop.body) if isinstance(e, prog.Effect)]
    asked = {e.call.kernel for e in effects if e.conditional}
    # Steps at which no condition holds print nothing, and are not gone through.
    steps = {k for n, x in data.items() for k in (x[0][x[-1]] if n in asked else x[0]).tolist()}
    lines = {n: zip(*(a[np.isin(x[0], [*steps])] for a in x), strict=True) for n, x in data.items()}
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
