"""The schedule of a program: from statements to a tree of loops and a timeline."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.base.diagnostics import DiagnosticError
from tempoc.poly.guarded import SECONDS, TooSlow
from tempoc.poly.lengths import Run
from tempoc.poly.nest import build
from tempoc.poly.scheduling import Problem, Unschedulable
from tempoc.poly.space import Space
from tempoc.poly.timeline import Timeline, lasting, timeline
from tempoc.schedule import errors
from tempoc.schedule.blame import blame
from tempoc.schedule.dependences import flows
from tempoc.schedule.lower import lower
from tempoc.schedule.occurrences import occurrences
from tempoc.schedule.tree import Tree
from tempoc.sdg.graph import Graph
from tempoc.sdg.statements import Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """The order of execution as loops, and as times for questions about live ranges.

    In the loops, and in the ``timeline``, bounds that a tensor ends stand for their largest
    lengths: all steps are there that may be. In ``lasting`` they stand for the lengths.
    """

    tree: Tree
    timeline: Timeline
    lasting: Timeline


def compute(statements: Statements, space: Space, graph: Graph | None = None) -> Scheduled:
    """An order that respects all dependences; `DiagnosticError` with the cycle if there is none.

    Sizes stay symbolic: bounds with a compile-time value count as free. The graph lends its spans
    to the diagnostic.
    """
    tasks = {s.name: s.domain for s in statements.statements}
    problem = Problem(space, tasks, flows(statements, space.universe))
    try:
        tree = lower(build(problem), tasks, space.universe)
    except Unschedulable as error:
        cause = blame(statements, error.tasks, space.universe, graph)
        raise DiagnosticError(cause) from None
    except TooSlow:
        raise DiagnosticError(errors.took_too_long(len(tasks), SECONDS)) from None
    places = tuple(occurrences(tree))
    found = timeline(problem.space, tasks, places)
    ended = space.universe.ended
    # Where lengths differ from point to point, nothing is gained from knowing one.
    one = bool(ended) and not any(b.outer for b in ended)
    known = lasting(found, Run(space), places) if one else found
    return Scheduled(tree=tree, timeline=found, lasting=known)
