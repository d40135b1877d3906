"""Lines of prints in regions: which points printed, in order, told by the loops of the region.

A call of a region returns the rows that it collected, not their points. The same loops and guards
give these again, with the lengths that are known after the call. A call that has failed, or in
which a length ended, has fewer rows: then the first point without one ends the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tempoc.program.nodes import nodes as prog
from tempoc.runtime.device import backend
from tempoc.runtime.walk.frame import RunFrame
from tempoc.runtime.walk.values import Values, Variables, function

Print = Callable[[int, tuple[int, ...]], bool]
"""Prints the next line of an effect, by number, at a point; whether there may be more."""
Walk = Callable[[Variables, Print], bool]
"""Calls a function for each print of a statement, as long as there may be more."""


def walk_of(
    s: prog.ProgramStatement,
    values: Values,
    steps: Callable[[prog.Loop], Callable[[Variables], range]],
    number: Callable[[prog.Effect], int],
) -> Walk | None:
    """The walk over the prints of a statement; ``None`` if there are none."""

    def of(s: prog.ProgramStatement) -> Walk | None:
        match s:
            case prog.Sequence(items=items):
                return _sequence([walk for item in items if (walk := of(item)) is not None])
            case prog.Guard(condition=condition, body=body):
                return _guard(function(values.of(condition)), of(body))
            case prog.Loop(var=var, body=body):
                return _loop(var, steps(s), of(body))
            case prog.Effect(call=call):
                return _effect(number(s), values.point(call.point))
            case _:
                return None

    return of(s)


def _sequence(walks: list[Walk]) -> Walk | None:
    if len(walks) < 2:
        return walks[0] if walks else None
    return lambda variables, show: all(walk(variables, show) for walk in walks)


def _guard(holds: Callable[[Variables], int], body: Walk | None) -> Walk | None:
    if body is None:
        return None
    return lambda variables, show: not holds(variables) or body(variables, show)


def _loop(var: str, steps: Callable[[Variables], range], body: Walk | None) -> Walk | None:
    if body is None:
        return None

    def walk(variables: Variables, show: Print) -> bool:
        for variables[var] in steps(variables):
            if not body(variables, show):
                return False
        return True

    return walk


def _effect(
    number: int, point: tuple[int, ...] | Callable[[Variables], tuple[int, ...]]
) -> Walk:
    if callable(point):
        return lambda variables, show: show(number, point(variables))
    return lambda variables, show: show(number, point)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePrinter:
    """Prints what the calls of a region collect.

    ``walk`` is that of a step, ``var`` the loop's variable. ``places`` has for each effect, by
    number, the place of its kernel among those of the region.
    """

    var: str
    walk: Walk
    places: Mapping[int, int]

    def __call__(self, frame: RunFrame, steps: range, rows: Sequence[Sequence[Any]]) -> None:
        """Print the rows of a call that ran these steps, or the first of them."""
        counts = [int(count) for count, *_ in rows]
        left = sum(counts)
        if not left:
            return
        arrays = [backend.hosts(of_kernel) for _, *of_kernel in rows]
        taken = [0] * len(rows)

        def show(number: int, point: tuple[int, ...]) -> bool:
            nonlocal left
            place = self.places[number]
            row = taken[place]
            if row == counts[place]:
                left = 0
            else:
                taken[place], left = row + 1, left - 1
                frame.perform(number, point, [np.asarray(array[row]) for array in arrays[place]])
            return left > 0

        variables = dict(frame.variables)
        for variables[self.var] in steps:
            if not self.walk(variables, show):
                return
