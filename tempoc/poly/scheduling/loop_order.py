"""Readable loop nests: loops over dimensions in declaration order, wherever that is legal.

isl's scheduler looks for tilable bands, for which it skews or shifts a stencil or an edit distance.
The plain nest is easier to read and to vectorize, so it is tried first. At each level, outermost
first:

- the strongly connected components of the dependences that no outer loop carries are the smallest
  *groups* that must share a loop; a group's *options* are the dimensions (and directions) along
  which no dependence inside runs backwards;
- groups connected by a flow are merged while a common option keeps all dependences between them
  running forwards and no path leads out of the two and back (then also unconnected ones); a task
  that reads a constant number of steps ahead (`g[t]` reads `r[t:t+n]`) is delayed by that many;
- each group gets a loop along its first option; the dependences that this loop does not carry are
  arranged inside.

A legal outer loop only removes dependences, so that it never makes a program unschedulable. isl's
scheduler is used for groups without an option.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tempoc.poly.isl import isl
from tempoc.poly.scheduling import loop_fusion
from tempoc.poly.scheduling.problem import Flow, SchedulingProblem, Unschedulable


def arrange(problem: SchedulingProblem) -> isl.Schedule:
    """An order of execution; `Unschedulable` if there is none."""
    return _Arrangement(problem).level(tuple(problem.tasks), _edges(problem), ())


def check_order(problem: SchedulingProblem) -> None:
    """Raise `Unschedulable` if there is no order of execution.

    It takes the steps of `arrange` that decide this, without fusing loops.
    """
    edges = _edges(problem)
    worklist = [(tuple(problem.tasks), edges, tuple[str, ...]())]
    while worklist:
        tasks, edges, done = worklist.pop()
        for group in loop_fusion.Grouping(problem, tasks, edges, done).groups.values():
            inside = loop_fusion.within(group.members, edges)
            if inside and not group.options:
                problem.schedule(group.members, [(e.flow, e.needs) for e in inside])
            elif inside:
                dim = group.options[0][0]
                remaining = [loop_fusion.inside_loop(problem, e, dim, group.pins) for e in inside]
                remaining = [e for e in remaining if not e.needs.is_empty()]
                worklist.append((group.members, remaining, (*done, dim)))


def _edges(problem: SchedulingProblem) -> list[loop_fusion.FlowEdge]:
    """The dependences that are not empty; `Unschedulable` if a point depends on itself."""
    edges = [loop_fusion.FlowEdge(f, problem.dependence(f)) for f in problem.flows]
    nonempty = [e for e in edges if not e.needs.is_empty()]
    for e in nonempty:
        # isl ignores dependences of a point on itself.
        if e.flow.reader == e.flow.writer:
            space = e.needs.get_space()
            if not e.needs.intersect(isl.Map.identity(space)).is_empty():
                raise Unschedulable((e.flow.reader,))
    return nonempty


class _Arrangement:
    """Arranges tasks recursively, one loop level at a time."""

    def __init__(self, problem: SchedulingProblem) -> None:
        self.problem = problem

    def level(
        self,
        tasks: tuple[str, ...],
        edges: Sequence[loop_fusion.FlowEdge],
        done: tuple[str, ...],
        carried: Sequence[Flow] = (),
    ) -> isl.Schedule:
        """The schedule of some tasks inside loops over `done`, the last of which carries flows."""
        if len(tasks) == 1 and not edges:
            return self.alone(tasks[0], done)
        groups = loop_fusion.Grouping(self.problem, tasks, edges, done).merged(carried)
        schedules = [self.group(g, loop_fusion.within(g.members, edges), done) for g in groups]
        return reduce(isl.Schedule.sequence, schedules)

    def alone(self, task: str, done: tuple[str, ...]) -> isl.Schedule:
        """The schedule of a task without dependences: loops in declaration order."""
        schedule = isl.Schedule.from_domain(self.problem.points(task))
        for dim in reversed(self.problem.tasks[task].dims):
            if dim not in done:
                schedule = schedule.insert_partial_schedule(self.row((task,), (dim, 1), {}))
        return schedule

    def row(
        self, tasks: tuple[str, ...], option: loop_fusion.Option, pins: loop_fusion.Pins
    ) -> isl.MultiUnionPwAff:
        """The loop along an option: each point at its position."""
        space, (dim, sign) = self.problem.space, option
        total = isl.UnionPwAff.empty(space.frame.param_space)
        for task in tasks:
            value = loop_fusion.coordinate(self.problem, task, dim, pins)
            points = space.set(self.problem.placed(task))
            points = points.set_tuple_name(self.problem.labels[task])
            value = (value if sign > 0 else value.neg()).intersect_domain(points)
            total = total.union_add(isl.UnionPwAff.from_pw_aff(value))
        return isl.MultiUnionPwAff.from_union_pw_aff(total)

    def group(
        self,
        group: loop_fusion.LoopGroup,
        edges: Sequence[loop_fusion.FlowEdge],
        done: tuple[str, ...],
    ) -> isl.Schedule:
        """The schedule of a group: its loop around the dependences that the loop does not carry."""
        if group.scalar:
            return self.level(group.members, (), done)
        if not group.options:
            return self.problem.schedule(group.members, [(e.flow, e.needs) for e in edges])
        option = group.options[0]
        remaining = [loop_fusion.inside_loop(self.problem, e, option[0], group.pins) for e in edges]
        pairs = zip(edges, remaining, strict=True)
        carried = [e.flow for e, inside in pairs if not e.needs.is_subset(inside.needs)]
        first = [
            f
            for f in self.reads(group.members, carried)
            if loop_fusion.meet(self.problem, f, option[0], group.pins)
        ]
        remaining = [e for e in remaining if not e.needs.is_empty()]
        body = self.level(group.members, remaining, (*done, option[0]), first)
        return body.insert_partial_schedule(self.row(group.members, option, group.pins))

    def reads(self, members: tuple[str, ...], carried: Sequence[Flow]) -> list[Flow]:
        """The reads, in a loop, of elements that the loop's carried flows overwrite.

        They are those of the flows and equal ones of other readers, such as of the first step, but
        not those of tasks that write the tensor themselves.
        """
        inside = frozenset(members)
        known = {(f.writer, f.tensor, f.read, f.written) for f in carried}
        equal = [
            f
            for f in self.problem.flows
            if {f.reader, f.writer} <= inside and (f.writer, f.tensor, f.read, f.written) in known
        ]
        writers: dict[tuple[object, ...], set[str]] = {}
        for f in equal:
            writers.setdefault((f.reader, f.tensor, f.read), set()).add(f.writer)
        return [f for f in equal if f.reader not in writers[f.reader, f.tensor, f.read]]
