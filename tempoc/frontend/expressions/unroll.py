"""Unrolls loops and list comprehensions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.syntax import ast


def loop_iterations(
    round: Round, frame: Frame, name: ast.Ident, over: ast.Expression
) -> Iterator[Frame]:
    """A frame for each iteration, with the loop variable bound.

    Raises `Failure` or `StillUnknown`.
    """
    values = round.evaluate(frame, over)
    if isinstance(values, val.Unknown):
        raise StillUnknown(values)
    if not isinstance(values, val.Listing):
        raise Failure(name_errors.for_over(over.span, val.describe(values)))
    loop_place = round.language.place(over.span)
    for k, value in enumerate(values.items):
        round.expand()
        scope = Scope("loop", parent=frame.scope)
        scope.bind(name.name, value, name.span)
        yield replace(
            frame,
            scope=scope,
            path=(*frame.path, over.span.start, k),
            place=(*frame.place, loop_place, k),
            turn=(*frame.turn, over.span.end, k),
        )
