"""The schedule of a program: from statements to a tree of loops and a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tempoc.base.diagnostics import Collector, DiagnosticError
from tempoc.poly.relations.run_lengths import Run
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling.loop_nest import build
from tempoc.poly.scheduling.problem import SchedulingProblem, Unschedulable
from tempoc.poly.scheduling.time_limit import SECONDS, TooSlow
from tempoc.poly.scheduling.timeline import Timeline, lasting, timeline
from tempoc.schedule import errors
from tempoc.schedule.blame import blame
from tempoc.schedule.dependences import flows
from tempoc.schedule.lower import lower
from tempoc.schedule.occurrences import occurrences
from tempoc.schedule.tree import ScheduleTree
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.statements import Statements

MOST = 8
"""How many more cycles are reported after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """The order of execution as loops, and as times for questions about live ranges.

    In the loops, and in the ``timeline``, bounds that a tensor ends stand for their largest
    lengths: all steps are there that may be. In ``lasting`` they stand for the lengths.
    """

    tree: ScheduleTree
    timeline: Timeline
    lasting: Timeline


def compute(statements: Statements, space: Space, graph: Graph | None = None) -> Scheduled:
    """An order that respects all dependences; `DiagnosticError` with the cycle if there is none.

    Sizes stay symbolic: bounds with a compile-time value count as free. The graph lends its spans
    to the diagnostic.
    """
    tasks = {s.name: s.domain for s in statements.statements}
    problem = SchedulingProblem(space, tasks, flows(statements, space.universe))
    try:
        tree = lower(build(problem), tasks, space.universe)
    except Unschedulable as error:
        causes = Collector()
        for stuck in (error.tasks, *_others(space, problem, error.tasks)):
            causes.add(blame(statements, stuck, space.universe, graph))
        raise DiagnosticError(*causes.ordered()) from None
    except TooSlow:
        raise DiagnosticError(errors.took_too_long(len(tasks), SECONDS)) from None
    places = tuple(occurrences(tree))
    found = timeline(problem.space, tasks, places)
    ended = space.universe.ended
    # Where lengths differ from point to point, nothing is gained from knowing one.
    one = bool(ended) and not any(b.outer for b in ended)
    known = lasting(found, Run(space), places) if one else found
    return Scheduled(tree=tree, timeline=found, lasting=known)


def _others(
    space: Space, problem: SchedulingProblem, stuck: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """What has no order either when these tasks are left out."""
    for _ in range(MOST):
        left = {name: domain for name, domain in problem.tasks.items() if name not in stuck}
        between = [f for f in problem.flows if f.reader in left and f.writer in left]
        try:
            build(SchedulingProblem(space, left, between))
        except Unschedulable as error:
            stuck = (*stuck, *error.tasks)
            yield error.tasks
        except TooSlow:
            return
        else:
            return
