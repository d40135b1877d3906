"""Schedules a program: from statements to a tree of loops and a timeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import Collector, Diagnostic, DiagnosticError
from tempoc.poly.relations.run_lengths import CompletedRun
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling.loop_nest import build
from tempoc.poly.scheduling.loop_order import arrange
from tempoc.poly.scheduling.problem import SchedulingProblem, Unschedulable
from tempoc.poly.scheduling.time_limit import TooSlow
from tempoc.poly.scheduling.timeline import Timeline, completed_timeline, timeline
from tempoc.schedule import errors
from tempoc.schedule.blame import explain_cycle, small_cycle
from tempoc.schedule.dependences import flows
from tempoc.schedule.expansions import expansions
from tempoc.schedule.lower import lower
from tempoc.schedule.occurrences import occurrences
from tempoc.schedule.tree import ScheduleTree
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.certain_order import unproved_components
from tempoc.sdg.statements.statements import Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A schedule: as a tree of loops, and as times of all instances, for live ranges.

    In the tree and in ``timeline``, ended bounds stand for their largest lengths; in ``lasting``
    for the actual lengths of the run, which are the same at all points.
    """

    tree: ScheduleTree
    timeline: Timeline
    lasting: Timeline


def compute(statements: Statements, space: Space, graph: Graph | None = None) -> Scheduled:
    """A schedule that satisfies all dependences. Raises `DiagnosticError` with a dependence cycle.

    Bounds are symbolic, even those with a compile-time value. Spans of diagnostics come from the
    graph.
    """
    tasks = {s.name: s.domain for s in statements.statements}
    late = frozenset(expansions(statements))
    needs = flows(statements, space.universe)
    stuck = partial(small_cycle, statements, space.universe)
    problem = SchedulingProblem(space, tasks, needs, late, stuck)
    try:
        tree = lower(build(problem), tasks, space.universe)
    except Unschedulable as error:
        causes = Collector()
        for names in (error.tasks, *_other_cycles(space, problem, error.tasks)):
            causes.add(_explained(statements, names, space, graph))
        raise DiagnosticError(*causes.ordered()) from None
    except TooSlow:
        raise DiagnosticError(errors.took_too_long(len(tasks), EFFORT.scheduling_seconds)) from None
    places = tuple(occurrences(tree))
    times = timeline(problem.space, tasks, places)
    lasting_times = (
        completed_timeline(times, CompletedRun(space), places) if space.universe.ended else times
    )
    return Scheduled(tree=tree, timeline=times, lasting=lasting_times)


def refuse_cycle(statements: Statements, space: Space, graph: Graph) -> None:
    """Raise `DiagnosticError` if instances of statements need each other at small bounds.

    It takes microseconds where dependence distances prove that there is an order.
    """
    components = unproved_components(statements, space.universe)
    if any(small_cycle(statements, space.universe, names) for names in components):
        compute(statements, space, graph)


def _explained(
    statements: Statements, names: Sequence[str], space: Space, graph: Graph | None
) -> Diagnostic:
    """The cycle among statements; among many those of a smallest one are looked at."""
    if len(names) > EFFORT.scheduled_statements:
        names = small_cycle(statements, space.universe, names) or names
    return explain_cycle(statements, names, space.universe, graph)


def _other_cycles(
    space: Space, problem: SchedulingProblem, stuck: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """Further unschedulable sets of tasks, without those found before.

    Whether the rest has an order is asked, not for its loops, which might not be expressible.
    """
    for _ in range(EFFORT.reported_cycles):
        remaining = {name: domain for name, domain in problem.tasks.items() if name not in stuck}
        if not remaining:
            return
        internal_flows = [
            f for f in problem.flows if f.reader in remaining and f.writer in remaining
        ]
        try:
            arrange(SchedulingProblem(space, remaining, internal_flows, stuck=problem.stuck))
        except Unschedulable as error:
            stuck = (*stuck, *error.tasks)
            yield error.tasks
        except TooSlow:
            return
        else:
            return
