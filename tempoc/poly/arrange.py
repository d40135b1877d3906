"""Loops as a person would write them: dimensions in declaration order, wherever that is legal.

isl looks for bands that can be tiled, and skews or shifts a stencil or an edit distance for that.
We want the plain nest, so we look for it first. At each level, outermost first:

- the strongly connected components of what is left of the dependences are the smallest *groups*
  that must share a loop; a group's *options* are the dimensions (and directions) along which no
  dependence inside runs backwards;
- groups connected by a flow are merged while a common option keeps all dependences between them
  running forwards and no path leads out of the two and back (then also unconnected ones);
- each group gets a loop along its first option; dependences that this loop carries are done, the
  others are arranged inside.

A legal outer loop only takes dependences away, so that it never makes a program unschedulable.
isl's scheduler is asked where this is not enough: for a group without an option, and for loops that
should run interleaved with a delay (`g[t]` reads `r[t:t+n]`), which it finds by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl
from islpy import dim_type as D

from tempoc.poly import cycles, hints
from tempoc.poly.guarded import TooSlow
from tempoc.poly.scheduling import Flow, Problem, Unschedulable
from tempoc.symbolic.expr import Const, Sym, sub

# A dimension and a direction: 1 upwards, -1 downwards.
Option = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Edge:
    """What is left of a flow: reader points to the writer points they need."""

    flow: Flow
    needs: isl.Map


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Tasks that share a loop; no option means that isl must find their order."""

    members: tuple[str, ...]
    options: tuple[Option, ...]
    scalar: bool = False


def arrange(problem: Problem) -> isl.Schedule:
    """An order of execution; `Unschedulable` if there is none."""
    edges = [_Edge(f, problem.dependence(f)) for f in problem.flows]
    nonempty = [e for e in edges if not e.needs.is_empty()]
    for e in nonempty:
        # isl ignores dependences of a point on itself.
        if e.flow.reader == e.flow.writer:
            space = e.needs.get_space()
            if not e.needs.intersect(isl.Map.identity(space)).is_empty():
                raise Unschedulable((e.flow.reader,))
    return _Arrangement(problem).level(tuple(problem.tasks), nonempty, ())


class _Arrangement:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.place = {name: k for k, name in enumerate(problem.tasks)}

    def level(
        self, tasks: tuple[str, ...], edges: Sequence[_Edge], done: tuple[str, ...]
    ) -> isl.Schedule:
        """The schedule of some tasks inside loops over the dimensions `done`."""
        if len(tasks) == 1 and not edges:
            return self.alone(tasks[0], done)
        groups = self.merged(self.smallest(tasks, edges, done), edges)
        if self.delayed(groups, edges):
            # Where isl has no answer in time, loops one after the other will do.
            with suppress(TooSlow, Unschedulable):
                return self.problem.schedule(tasks, [(e.flow, e.needs) for e in edges])
        schedules = [self.group(g, edges, done) for g in groups]
        return reduce(isl.Schedule.sequence, schedules)

    def alone(self, task: str, done: tuple[str, ...]) -> isl.Schedule:
        """A task without dependences: its loops in declaration order."""
        schedule = isl.Schedule.from_domain(self.problem.points(task))
        for dim in reversed(self.problem.tasks[task].dims):
            if dim not in done:
                schedule = schedule.insert_partial_schedule(self.row((task,), (dim, 1)))
        return schedule

    def row(self, tasks: tuple[str, ...], option: Option) -> isl.MultiUnionPwAff:
        """The loop along an option: each point at its coordinate."""
        frame, (dim, sign) = self.problem.space.frame, option
        total = isl.UnionPwAff.empty(frame.param_space)
        for task in tasks:
            domain, label = self.problem.tasks[task], self.problem.labels[task]
            value = frame.coordinates(domain.dims, label).env[dim]
            points = self.problem.space.set(domain).set_tuple_name(label)
            value = (value if sign > 0 else value.neg()).intersect_domain(points)
            total = total.union_add(isl.UnionPwAff.from_pw_aff(value))
        return isl.MultiUnionPwAff.from_union_pw_aff(total)

    def group(self, group: _Group, edges: Sequence[_Edge], done: tuple[str, ...]) -> isl.Schedule:
        """The schedule of a group: its loop around what is left."""
        inside = _within(group.members, edges)
        if group.scalar:
            return self.level(group.members, (), done)
        if not group.options:
            return self.problem.schedule(group.members, [(e.flow, e.needs) for e in inside])
        option = group.options[0]
        left = [replace(e, needs=self.equal(e, option[0])) for e in inside]
        left = [e for e in left if not e.needs.is_empty()]
        body = self.level(group.members, left, (*done, option[0]))
        return body.insert_partial_schedule(self.row(group.members, option))

    # Groups

    def smallest(
        self, tasks: tuple[str, ...], edges: Sequence[_Edge], done: tuple[str, ...]
    ) -> list[_Group]:
        """The strongly connected components with their options, sources before sinks."""
        after: dict[str, list[str]] = {t: [] for t in tasks}
        for e in edges:
            after[e.flow.writer].append(e.flow.reader)
        found = []
        for members in reversed(cycles.components(tasks, after)):
            inside = _within(members, edges)
            shared = self.problem.tasks[members[0]].dims
            options = [
                (dim, sign)
                for sign in (1, -1)
                for dim in shared
                if dim not in done
                and all(dim in self.problem.tasks[m].dims for m in members)
                and all(self.forwards(e, (dim, sign)) for e in inside)
            ]
            scalar = not inside and not options
            found.append(_Group(members=members, options=tuple(options), scalar=scalar))
        return found

    def merged(self, groups: list[_Group], edges: Sequence[_Edge]) -> list[_Group]:
        """Groups merged as far as possible: first along flows, then any; in order of execution."""
        home = {m: k for k, g in enumerate(groups) for m in g.members}
        live = dict(enumerate(groups))
        for a, b, wish in self.pairs(groups, edges):
            first, second = home[a], home[b]
            common = self.common(live[first], live[second], ())
            if first == second or not common:
                continue
            if wish and not common[0] == live[first].options[0] == live[second].options[0]:
                continue
            joined = self.joined(live, first, second, home, edges)
            if joined is not None:
                live[first] = joined
                del live[second]
                home.update(dict.fromkeys(joined.members, first))
        start = {k: min(self.place[m] for m in g.members) for k, g in live.items()}
        order = cycles.sort(sorted(live, key=start.__getitem__), _links(home, edges))
        return [live[k] for k in order]

    def pairs(
        self, groups: list[_Group], edges: Sequence[_Edge]
    ) -> Iterator[tuple[str, str, bool]]:
        """What to merge, in order: `True` where both must get the loop that each wants first."""
        flows = [(e.flow.writer, e.flow.reader) for e in edges]
        yield from ((a, b, True) for a, b in flows)
        yield from ((a, b, False) for a, b in flows)
        firsts = sorted((g.members[0] for g in groups if g.options), key=self.place.__getitem__)
        for k, a in enumerate(firsts):
            yield from ((a, b, True) for b in firsts[k + 1 :])

    def joined(
        self,
        live: dict[int, _Group],
        first: int,
        second: int,
        home: dict[str, int],
        edges: Sequence[_Edge],
    ) -> _Group | None:
        """Two groups as one, if a common loop is legal and no path leads out and back."""
        both = (first, second)
        between = [
            e
            for e in edges
            if home[e.flow.writer] in both
            and home[e.flow.reader] in both
            and home[e.flow.writer] != home[e.flow.reader]
        ]
        options = self.common(live[first], live[second], between)
        links = _links(home, edges)
        for a, b in (both, both[::-1]):
            if options and cycles.reaches([n for n in links.get(a, ()) if n != b], b, links):
                return None
        members = (*live[first].members, *live[second].members)
        members = tuple(sorted(members, key=self.place.__getitem__))
        return _Group(members=members, options=options) if options else None

    def common(self, a: _Group, b: _Group, between: Sequence[_Edge]) -> tuple[Option, ...]:
        """The options of both along which the edges between them run forwards."""
        return tuple(
            o for o in a.options if o in b.options and all(self.forwards(e, o) for e in between)
        )

    def delayed(self, groups: list[_Group], edges: Sequence[_Edge]) -> bool:
        """Whether two loops would run together if one were shifted by a constant."""
        option = {m: g.options[0] for g in groups for m in g.members if g.options}
        home = {m: k for k, g in enumerate(groups) for m in g.members}
        return any(
            home[e.flow.reader] != home[e.flow.writer]
            and option.get(e.flow.reader) == option.get(e.flow.writer)
            and self.ahead(e.flow, option.get(e.flow.writer))
            for e in edges
        )

    def ahead(self, flow: Flow, option: Option | None) -> bool:
        """Whether the reader needs the writer a constant distance ahead of it."""
        if option is None or option[1] < 0:
            return False
        writer = self.problem.tasks[flow.writer]
        near = hints.neighbours(flow.read, flow.written, writer, self.problem.space.universe)
        if near is None or option[0] not in writer.dims:
            return False
        gap = sub(near[0][writer.dims.index(option[0])], Sym(option[0]))
        return isinstance(gap, Const) and gap.value > 0

    # Edges

    def positions(self, e: _Edge, dim: str) -> tuple[int, int]:
        """Where a dimension stands in the points of reader and writer."""
        tasks = self.problem.tasks
        return tasks[e.flow.reader].dims.index(dim), tasks[e.flow.writer].dims.index(dim)

    def forwards(self, e: _Edge, option: Option) -> bool:
        """Whether no reader comes before what it needs along the option."""
        reader, writer = self.positions(e, option[0])
        order = e.needs.order_lt if option[1] > 0 else e.needs.order_gt
        return bool(order(D.in_, reader, D.out, writer).is_empty())

    def equal(self, e: _Edge, dim: str) -> isl.Map:
        """What a loop over the dimension leaves to do."""
        reader, writer = self.positions(e, dim)
        return e.needs.equate(D.in_, reader, D.out, writer)


def _within(members: tuple[str, ...], edges: Sequence[_Edge]) -> list[_Edge]:
    inside = frozenset(members)
    return [e for e in edges if e.flow.reader in inside and e.flow.writer in inside]


def _links(home: dict[str, int], edges: Sequence[_Edge]) -> dict[int, list[int]]:
    """Which groups read from which, by number."""
    links: dict[int, list[int]] = {}
    for e in edges:
        a, b = home[e.flow.writer], home[e.flow.reader]
        if a != b and b not in links.setdefault(a, []):
            links[a].append(b)
    return links
