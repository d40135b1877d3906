"""Whether a program can be scheduled, decided without computing the schedule."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling.loop_order import check_order
from tempoc.poly.scheduling.problem import SchedulingProblem, Unschedulable
from tempoc.poly.scheduling.time_limit import TooSlow
from tempoc.schedule.blame import small_cycle
from tempoc.schedule.dependences import flows
from tempoc.sdg.statements.statements import Statements


def has_order(parts: Statements, space: Space, components: Iterable[tuple[str, ...]]) -> bool:
    """Whether each component of statements has an order of execution; a timeout counts as yes."""
    needs = flows(parts, space.universe)
    stuck = partial(small_cycle, parts, space.universe)
    for names in components:
        tasks = {name: parts.by_name[name].domain for name in names}
        dependences = [f for f in needs if f.reader in tasks and f.writer in tasks]
        try:
            check_order(SchedulingProblem(space, tasks, dependences, stuck=stuck))
        except Unschedulable:
            return False
        except TooSlow:
            pass
    return True
