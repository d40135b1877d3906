"""An order of execution as times: for each task, when each of its points runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import islpy as isl
from islpy import dim_type as D

from tempoc.poly import maps
from tempoc.poly.lengths import Run
from tempoc.poly.scheduling import Problem
from tempoc.poly.space import Space
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import FALSE, ZERO, Expr, Sym
from tempoc.symbolic.walk import substitute


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A place in the loops where a task runs.

    For all values of `variables` with `where`, the task runs at `point`; places and variables of
    enclosing loops alternate in `time`, to be compared lexicographically.
    """

    task: str
    variables: tuple[str, ...]
    where: Expr
    point: tuple[Expr, ...]
    time: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """When everything runs: vectors of one length; only `poly` looks inside `times`."""

    space: Space
    tasks: Mapping[str, Domain]
    times: Mapping[str, isl.Map]


def timeline(
    space: Space, tasks: Mapping[str, Domain], occurrences: Iterable[Occurrence]
) -> Timeline:
    """The times of tasks that run at the occurrences, in the space without fixed bounds."""
    there = space.symbolic
    found = tuple(occurrences)
    length = max((len(o.time) for o in found), default=0)
    parts: dict[str, list[isl.Map]] = {name: [] for name in tasks}
    for o in found:
        parts[o.task].append(_times(there, tasks[o.task], o, length))
    for name, m in parts.items():
        if not m:
            m.append(_times(there, tasks[name], _never(name, tasks[name]), length))
    times = {name: maps.union(m) for name, m in parts.items()}
    return Timeline(space=there, tasks=tasks, times=times)


def lasting(found: Timeline, space: Run, occurrences: Iterable[Occurrence]) -> Timeline:
    """The times of a run whose lengths are known, though its loops were written for any."""
    most: dict[str, Expr] = {n: Sym(m) for n, m in space.largest.items()}
    there = space.symbolic
    moved = [
        replace(
            o,
            where=substitute(o.where, most),
            point=tuple(substitute(e, most) for e in o.point),
            time=tuple(substitute(e, most) for e in o.time),
        )
        for o in occurrences
    ]
    whole = timeline(there, found.tasks, moved)
    times = {n: t.intersect_domain(there.set(found.tasks[n])) for n, t in whole.times.items()}
    return replace(whole, times=times)


def _never(name: str, task: Domain) -> Occurrence:
    """No moment at all: what a task without points has."""
    nowhere = (ZERO,) * len(task.dims)
    return Occurrence(task=name, variables=(), where=FALSE, point=nowhere, time=())


def _times(space: Space, task: Domain, o: Occurrence, length: int) -> isl.Map:
    frame = space.frame
    at = frame.coordinates(o.variables)
    run = frame.condition(o.where, at).intersect_params(space.context)
    for k in range(len(o.variables)):  # conditions leave out what holds for every symbol
        run = run.lower_bound_val(D.set, k, frame.val(0))
    points = maps.access(frame, at, o.point, frame.coordinates(task.dims))
    padded = (*o.time, *[ZERO] * (length - len(o.time)))
    clock = frame.coordinates(tuple(f"time{k}" for k in range(length)))
    moments = maps.access(frame, at, padded, clock)
    return points.intersect_domain(run).reverse().apply_range(moments)


def complete(found: Timeline, task: str) -> bool:
    """Whether every point of the task runs, and each exactly once."""
    points = found.space.set(found.tasks[task])
    times = found.times[task]
    return bool(times.domain().is_equal(points)) and bool(times.is_single_valued())


def violated(found: Timeline, problem: Problem) -> tuple[tuple[str, str], ...]:
    """The pairs (writer, reader) of which some reader's point runs too early."""
    wrong: list[tuple[str, str]] = []
    for flow in problem.flows:
        needs = problem.dependence(flow)
        if needs.is_empty():
            continue
        needs = needs.reset_tuple_id(D.in_).reset_tuple_id(D.out)
        times = found.times
        pairs = needs.apply_domain(times[flow.reader]).apply_range(times[flow.writer])
        if not pairs.is_subset(isl.Map.lex_gt(pairs.get_space().range())):
            wrong.append((flow.writer, flow.reader))
    return tuple(wrong)
