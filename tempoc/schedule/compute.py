"""The schedule of a program: from statements to a tree of loops and a timeline."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.poly.arrange import arrange
from tempoc.poly.nest import build
from tempoc.poly.scheduling import Problem, Timeline, Unschedulable
from tempoc.poly.space import Space
from tempoc.schedule.dependences import flows
from tempoc.schedule.lower import lower
from tempoc.schedule.tree import Tree
from tempoc.sdg.statements import Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """The order of execution twice: as loops, and as times for questions about live ranges."""

    tree: Tree
    timeline: Timeline


def compute(statements: Statements, space: Space) -> Scheduled:
    """An order that respects all dependences; `DiagnosticError` with the cycle if there is none.

    Sizes stay symbolic: bounds with a compile-time value count as free.
    """
    tasks = {s.name: s.domain for s in statements.statements}
    problem = Problem(space, tasks, flows(statements))
    try:
        timeline = arrange(problem)
    except Unschedulable:
        raise
    tree = lower(build(timeline), tasks, space.universe)
    return Scheduled(tree=tree, timeline=timeline)
