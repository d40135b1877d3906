"""A schedule as relations: the times at which the points of each task run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise

from tempoc.poly.isl import D, isl
from tempoc.poly.relations import maps
from tempoc.poly.relations.memo import Memo
from tempoc.poly.relations.run_lengths import CompletedRun
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling.problem import Flow, SchedulingProblem
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import divisions, substitute


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A place in the loops at which a task runs.

    For all values of `variables` with `where`, the task runs at `point`; positions and variables of
    enclosing loops alternate in `time`, to be compared lexicographically.
    """

    task: str
    variables: tuple[str, ...]
    where: ix.Expr
    point: tuple[ix.Expr, ...]
    time: tuple[ix.Expr, ...]


OccurrencePath = tuple[Occurrence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """The times at which the points of a task run, in as few coordinates as a comparison needs.

    ``like`` is the first task that runs under the same conditions at the same points, ``times`` are
    those of its places, ``conditions`` is the memo number of its domain, conditions and points. So
    equal moments stand for equal relations, whatever the tasks are called and in whatever loops
    they run, and share their results in the memo table.
    """

    like: str
    conditions: int
    times: tuple[tuple[ix.Expr, ...], ...]
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The schedule of all tasks as places in the loops; only `poly` reads the times as relations.

    With ``exact``, points outside of a task's domain are excluded from its times: the loops are
    those of any run, the domain is that of one.
    """

    space: Space
    tasks: Mapping[str, Domain]
    places: Mapping[str, OccurrencePath]
    like: Mapping[str, str]
    exact: bool = False

    def times(self, task: str) -> isl.Map:
        """The points of a task to their times: vectors of one length for all tasks."""
        length = max(
            (len(o.time) for occurrences in self.places.values() for o in occurrences), default=0
        )
        times = tuple(o.time for o in self.places[task])
        return self.relation(self._moments(task, times, length))

    def _moments(self, task: str, times: tuple[tuple[ix.Expr, ...], ...], length: int) -> Moments:
        like = self.like[task]
        stated = self.tasks[like], tuple(map(_conditions, self.places[like]))
        number = self.space.known.number(stated)
        return Moments(like=like, conditions=number, times=times, length=length)

    def relation(self, moments: Moments) -> isl.Map:
        """The points to the time vectors at which they run."""
        key = ("times", moments, self.exact)
        return self.space.known.once(key, lambda: self._relation(moments))

    def _relation(self, m: Moments) -> isl.Map:
        space, domain = self.space, self.tasks[m.like]
        pairs = zip(self.places[m.like], m.times, strict=True)
        places = [replace(o, time=time) for o, time in pairs] or [_never(domain)]
        times = maps.union([_times(space, domain, o, m.length) for o in places])
        return times.intersect_domain(space.set(domain)) if self.exact else times

    def compared(self, tasks: Sequence[str], anchors: Sequence[str]) -> dict[str, Moments]:
        """Short times of some tasks that compare with those of ``anchors`` as the full times do.

        The anchors are some of the tasks. Two places in the loops are compared at the position
        where their paths diverge. Common prefixes are dropped, and other positions are replaced by
        their rank among those of the anchors.
        """
        anchor_tasks = {*anchors}
        places = [(task, o.time) for task in tasks for o in self.places[task]]
        paths = [(k, time, task in anchor_tasks) for k, (task, time) in enumerate(places)]
        least = dict(_ranked(paths, ()))
        length = max(map(len, least.values()), default=0)
        vectors: dict[str, list[tuple[ix.Expr, ...]]] = {task: [] for task in tasks}
        for k, (task, _) in enumerate(places):
            vectors[task].append(least[k])
        return {task: self._moments(task, tuple(times), length) for task, times in vectors.items()}


_TreePath = tuple[int, tuple[ix.Expr, ...], bool]
"""The number of a place, the path to it, and whether an anchor runs there."""


def _ranked(
    paths: Sequence[_TreePath], before: tuple[ix.Expr, ...]
) -> Iterator[tuple[int, tuple[ix.Expr, ...]]]:
    """The shortest times that distinguish the paths that start at one place."""
    if not any(is_anchor for *_, is_anchor in paths) or not any(time for _, time, _ in paths):
        yield from ((number, before) for number, *_ in paths)
        return
    heads = [time[0] if time else ix.ZERO for _, time, _ in paths]
    among = {h.value for h, w in zip(heads, paths, strict=True) if w[2] and isinstance(h, ix.Const)}
    order = sorted(among)
    parts: dict[ix.Expr, list[_TreePath]] = {}
    for head, (number, time, is_anchor) in zip(heads, paths, strict=True):
        rank = head
        if isinstance(head, ix.Const):
            rank = ix.Const(2 * bisect_left(order, head.value) + (head.value in among))
        parts.setdefault(rank, []).append((number, time[1:], is_anchor))
    for rank, part in parts.items():
        alone = len(parts) == 1 and isinstance(rank, ix.Const)
        yield from _ranked(part, before if alone else (*before, rank))


def timeline(
    space: Space, tasks: Mapping[str, Domain], occurrences: Iterable[Occurrence]
) -> Timeline:
    """The timeline of tasks that run at the occurrences, in the space without fixed bounds."""
    parts: dict[str, list[Occurrence]] = {name: [] for name in tasks}
    for o in occurrences:
        parts[o.task].append(o)
    places = {name: tuple(listed) for name, listed in parts.items()}
    first: dict[object, str] = {}
    like = {
        name: first.setdefault((tasks[name], tuple(map(_conditions, listed))), name)
        for name, listed in places.items()
    }
    return Timeline(space=space.symbolic, tasks=tasks, places=places, like=like)


def completed_timeline(
    schedule: Timeline, space: CompletedRun, occurrences: Iterable[Occurrence]
) -> Timeline:
    """The timeline of a completed run whose lengths are known; its loops are written for any."""
    most: dict[str, ix.Expr] = {n: ix.Sym(m) for n, m in space.largest.items()}
    moved = [
        replace(
            o,
            where=substitute(o.where, most),
            point=tuple(substitute(e, most) for e in o.point),
            time=tuple(substitute(e, most) for e in o.time),
        )
        for o in occurrences
    ]
    return replace(timeline(space.symbolic, schedule.tasks, moved), exact=True)


def _conditions(o: Occurrence) -> tuple[object, ...]:
    return o.variables, o.where, o.point


def _never(task: Domain) -> Occurrence:
    """The occurrence of a task without points: never."""
    nowhere = (ix.ZERO,) * len(task.dims)
    return Occurrence(task="", variables=(), where=ix.FALSE, point=nowhere, time=())


def _times(space: Space, task: Domain, o: Occurrence, length: int) -> isl.Map:
    frame = space.frame
    at = frame.coordinates(o.variables)
    run = frame.condition(o.where, at).intersect_params(space.context)
    for k in range(len(o.variables)):  # conditions leave out what holds for every symbol
        run = run.lower_bound_val(D.set, k, frame.val(0))
    points = maps.access(frame, at, o.point, frame.coordinates(task.dims))
    padded = (*o.time, *[ix.ZERO] * (length - len(o.time)))
    clock = frame.coordinates(tuple(f"time{k}" for k in range(length)))
    moments = maps.access(frame, at, padded, clock)
    return points.intersect_domain(run).reverse().apply_range(moments)


def complete(timeline: Timeline, task: str) -> bool | None:
    """Whether every point of the task runs, and each exactly once; `None` if that is too hard."""
    (moments,) = timeline.compared((task,), (task,)).values()

    def answer() -> bool:
        points = timeline.space.set(timeline.tasks[task])
        times = timeline.relation(moments)
        return bool(times.domain().is_equal(points)) and bool(times.is_single_valued())

    frame = timeline.space.frame
    key = ("complete", moments, timeline.exact)
    return timeline.space.known.once(key, lambda: frame.within_patience(answer))


def in_turn(schedule: Timeline, tasks: Sequence[str]) -> bool:
    """Whether tasks run one after the other at each point, and points in lexicographic order.

    It is asked without the remainders in conditions, of all points at which the loops would run all
    tasks then: all pairs follow from neighbours, of which there are as many as tasks. ``False`` if
    a task has other points, or if the question is too hard.
    """
    domains = {name: without_remainders(schedule.tasks[name]) for name in tasks}
    places = (
        replace(o, where=_undivided(o.where)) for name in tasks for o in schedule.places[name]
    )
    wide = timeline(schedule.space, domains, places)

    def answer() -> bool:
        times = [wide.times(name) for name in tasks]
        points = reduce(isl.Set.intersect, (t.domain() for t in times))
        if not all(wide.space.set(schedule.tasks[name]).is_subset(points) for name in tasks):
            return False
        ahead = isl.Map.lex_lt(times[0].range().get_space())
        later = isl.Map.lex_lt(points.get_space()).intersect_domain(points).intersect_range(points)
        pairs = [(points.identity(), *neighbours) for neighbours in pairwise(times)]
        return all(
            relation.apply_domain(first).apply_range(second).is_subset(ahead)
            for relation, first, second in [*pairs, (later, times[-1], times[0])]
        )

    return wide.space.frame.within_patience(answer) or False


def without_remainders(domain: Domain) -> Domain:
    """The points of a domain, and those that only conditions with remainders exclude."""
    return replace(domain, where=_undivided(domain.where))


def _undivided(condition: ix.Expr) -> ix.Expr:
    return ix.conjunction(*(c for c in conjuncts(condition) if not divisions(c)))


def violated(timeline: Timeline, problem: SchedulingProblem) -> tuple[tuple[str, str], ...]:
    """The pairs (writer, reader) with a reader's point that is known to run before its writer's.

    What flows read alike, between tasks that run alike, is asked once.
    """
    known = Memo()
    pairs = dict.fromkeys((flow.reader, flow.writer) for flow in problem.flows)
    moments = {pair: timeline.compared(tuple(dict.fromkeys(pair)), pair) for pair in pairs}

    def answer(flow: Flow, reader: Moments, writer: Moments) -> bool:
        needs = problem.dependence(flow)
        if needs.is_empty():
            return False
        needs = needs.reset_tuple_id(D.in_).reset_tuple_id(D.out)
        first, then = timeline.relation(reader), timeline.relation(writer)
        times = needs.apply_domain(first).apply_range(then)
        return not times.is_subset(isl.Map.lex_gt(times.get_space().range()))

    def is_violated(flow: Flow) -> bool:
        own = moments[flow.reader, flow.writer]
        reader, writer = own[flow.reader], own[flow.writer]
        ask = partial(answer, flow, reader, writer)
        key = (problem.ends(flow), flow.read, reader, writer)
        return bool(known.once(key, lambda: timeline.space.frame.within_patience(ask)))

    return tuple((flow.writer, flow.reader) for flow in problem.flows if is_violated(flow))
