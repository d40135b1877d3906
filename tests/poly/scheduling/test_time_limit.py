"""The scheduler's guard: same answer from a child process, and an end to a search that has none."""

from __future__ import annotations

import islpy as isl
import pytest

from tempoc.poly.scheduling.loop_order import arrange
from tempoc.poly.scheduling.problem import SchedulingProblem
from tempoc.poly.scheduling.time_limit import NoSchedule, TooSlow, solve
from tempoc.schedule.dependences import flows
from tests.schedule.programs import Builder, nstep


def constraints(b: Builder) -> isl.ScheduleConstraints:
    tasks = {s.name: s.domain for s in b.statements.statements}
    problem = SchedulingProblem(b.space, tasks, flows(b.statements, b.space.universe))
    needs = [problem.dependence(f).reverse().to_union_map() for f in problem.flows]
    domain = isl.UnionSet.empty(problem.space.frame.param_space)
    validity = isl.UnionMap.empty(problem.space.frame.param_space)
    for task in tasks:
        domain = domain.union(problem.points(task))
    for need in needs:
        validity = validity.union(need)
    return isl.ScheduleConstraints.on_domain(domain).set_validity(validity)


def test_a_child_finds_the_same() -> None:
    asked = constraints(nstep(3))
    here, there = solve(asked, 1), solve(asked, 1, small=0)
    assert here.plain_is_equal(there)
    assert here.get_map().is_equal(there.get_map())


def test_a_child_says_no() -> None:
    b = Builder("t<T")
    b.statement("a", "t", "b[t]")
    b.statement("b", "t", "a[t]")
    with pytest.raises(NoSchedule):
        solve(constraints(b), 1, small=0)
    with pytest.raises(NoSchedule):
        solve(constraints(b), 1)


def test_a_child_is_killed() -> None:
    with pytest.raises(TooSlow):
        solve(constraints(nstep(3)), 1, small=0, seconds=0.01)


def test_a_large_program_needs_no_child() -> None:
    b = Builder("t<T")
    b.tensor("h", "t")
    b.statement("h.0", "", writes=("h[0]",))
    for k in range(120):
        b.statement(f"x{k}", "t", f"x{k - 1}[t]" if k else "h[t]")
    b.statement("h.1", "t", "x119[t]", writes=("h[t+1] | t+1 < T",))
    tasks = {s.name: s.domain for s in b.statements.statements}
    schedule = arrange(SchedulingProblem(b.space, tasks, flows(b.statements, b.space.universe)))
    assert schedule.get_map().n_map() == 122
