"""Loop fusion: the smallest groups of tasks that must share a loop, merged as far as is legal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import combinations

from tempoc.base.graphs import reachable, strongly_connected_components, topological_sort
from tempoc.poly.isl import D, integer, isl
from tempoc.poly.scheduling.problem import Flow, SchedulingProblem
from tempoc.poly.scheduling.reachability import Paths
from tempoc.symbolic import expr as ix
from tempoc.symbolic.coordinates import coordinates
from tempoc.symbolic.walk import symbols

# A dimension and a direction: 1 upwards, -1 downwards.
Option = tuple[str, int]
# The position of tasks in a loop, where that is not their own coordinate: a constant for tasks that
# lack the loop's dimension (`s[0] = x[0]` at 0), `t+7` for delayed ones.
Pins = Mapping[str, ix.Expr]


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """A flow, and the dependences of it that no outer loop carries: reader to writer points."""

    flow: Flow
    needs: isl.Map


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopGroup:
    """Tasks that share a loop along the first option; without options isl determines their order.

    `guest` has further options, each with the pins that it needs, along dimensions that some
    members lack but have a coordinate for (step `k` at `k//16`): they are used to join other
    groups. A `scalar` group needs no loop.
    """

    members: tuple[str, ...]
    options: tuple[Option, ...]
    pins: Pins = field(default_factory=dict)
    guest: Mapping[Option, Pins] = field(default_factory=dict)
    scalar: bool = False


class Wish(Enum):
    """The merges that are tried, in this order.

    Both groups get their first option (then: with a delay), no loop is reversed (then: with a
    delay), any.
    """

    FAVOURITE = auto()
    LATE = auto()
    NATURAL = auto()
    DELAYED = auto()
    ANY = auto()


class Grouping:
    """The groups at one level: `tasks` with `edges` inside loops over the dimensions `done`."""

    def __init__(
        self,
        problem: SchedulingProblem,
        tasks: tuple[str, ...],
        edges: Sequence[FlowEdge],
        done: tuple[str, ...],
    ) -> None:
        self.problem = problem
        self.tasks = tasks
        self.edges = edges
        self.done = done
        self.place = {name: k for k, name in enumerate(problem.tasks)}
        self.flows_from: dict[str, list[Flow]] = {task: [] for task in tasks}
        for e in edges:
            self.flows_from[e.flow.writer].append(e.flow)
        self.groups = dict(enumerate(self.components()))
        self.group_of = {m: k for k, g in self.groups.items() for m in g.members}
        self.paths = Paths(tuple(self.groups), self.links())

    def components(self) -> list[LoopGroup]:
        """The strongly connected components as groups, sources before sinks."""
        after = {task: [f.reader for f in flows] for task, flows in self.flows_from.items()}
        groups = []
        for members in reversed(strongly_connected_components(self.tasks, after.__getitem__)):
            inside = within(members, self.edges)
            options = tuple(
                (dim, sign)
                for sign in (1, -1)
                for dim in self.problem.tasks[members[0]].dims
                if dim not in self.done
                and all(dim in self.problem.tasks[m].dims for m in members)
                and all(self.forwards(e, (dim, sign), {}) for e in inside)
            )
            guest = dict(self.guest_options(members, inside))
            if inside and not options and guest:
                option, pins = next(iter(guest.items()))
                groups.append(LoopGroup(members=members, options=(option,), pins=pins))
                continue
            scalar = not inside and not options
            groups.append(LoopGroup(members=members, options=options, guest=guest, scalar=scalar))
        return groups

    def guest_options(
        self, members: tuple[str, ...], inside: Sequence[FlowEdge]
    ) -> Iterator[tuple[Option, Pins]]:
        """Options along dimensions that some members lack, but for which all have a coordinate."""
        tasks, universe = self.problem.tasks, self.problem.space.universe
        stands = {m: coordinates(universe, tasks[m].dims) for m in members}
        for sign in (1, -1):
            for dim in stands[members[0]]:
                lacking = [m for m in members if dim not in tasks[m].dims]
                if lacking and dim not in self.done and all(dim in stands[m] for m in members):
                    pins = {m: stands[m][dim] for m in lacking}
                    if all(self.forwards(e, (dim, sign), pins) for e in inside):
                        yield (dim, sign), pins

    def merged(self, carried: Sequence[Flow] = ()) -> list[LoopGroup]:
        """The groups after all merges, in an order of execution.

        Of two that have no order, one that reads what the other left in an earlier step of the
        enclosing loop (``carried``) comes first, so that what it reads can be overwritten then.
        """
        flows = list(dict.fromkeys((e.flow.writer, e.flow.reader) for e in self.edges))
        for a, b in flows:
            if a in self.problem.late:
                self.try_merge(a, b, Wish.FAVOURITE)
                self.try_merge(a, b, Wish.ANY)
        for e in self.edges:
            if self.selects(e):
                self.try_merge(e.flow.writer, e.flow.reader, Wish.NATURAL)
        # Then the merges in which both get their first option, even if one must be delayed; a
        # delay is better than to reverse a loop that could run forwards.
        for wish in (Wish.FAVOURITE, Wish.LATE, Wish.NATURAL, Wish.DELAYED, Wish.ANY):
            for a, b in flows:
                self.try_merge(a, b, wish)
        for a, b in self.unconnected():
            self.try_merge(a, b, Wish.FAVOURITE)
        start = {k: min(self.place[m] for m in g.members) for k, g in self.groups.items()}
        links = self.links()
        for flow in carried:
            reader, writer = self.group_of[flow.reader], self.group_of[flow.writer]
            if reader not in reachable((writer,), links.__getitem__):
                links[reader].append(writer)
        order = topological_sort(sorted(self.groups, key=start.__getitem__), links.__getitem__)
        return [self.groups[k] for k in order]

    def selects(self, e: FlowEdge) -> bool:
        """Whether the reader selects points, for later steps, of what its writer computes at once.

        Its first loop, of which the writer has no dimension, has no step in common with the readers
        of these points: fused with theirs it saves no memory. In a loop of the writer, what is
        selected from lives for one step.
        """
        reader = self.groups[self.group_of[e.flow.reader]]
        if len(reader.members) > 1 or len(reader.options) < 2:
            return False
        dim = reader.options[0][0]
        if dim in self.problem.tasks[e.flow.writer].dims:
            return False
        later = self.flows_from[e.flow.reader]
        in_loop = [f for f in later if dim in self.problem.tasks[f.reader].dims]
        return bool(in_loop) and not any(meet(self.problem, f, dim, {}) for f in in_loop)

    def unconnected(self) -> Iterator[tuple[str, str]]:
        """All pairs of groups, each represented by one of its tasks."""
        groups = [g for g in self.groups.values() if g.options]
        firsts = sorted((g.members[0] for g in groups), key=self.place.__getitem__)
        return combinations(firsts, 2)

    def try_merge(self, a: str, b: str, wish: Wish) -> None:
        """Merge the groups of two tasks if they have a common option and that is legal."""
        first, second = self.groups[self.group_of[a]], self.groups[self.group_of[b]]
        common = [o for o in first.options if o in second.options]
        common = common or [o for o in first.options if o in second.guest]
        common = common or [o for o in second.options if o in first.guest]
        if first is second or not common:
            return
        if wish in (Wish.FAVOURITE, Wish.LATE):
            if not tuple(common[:1]) == first.options[:1] == second.options[:1]:
                return
            common = common if wish is Wish.FAVOURITE else common[:1]
        elif wish is not Wish.ANY:
            common = [o for o in common if o[1] > 0 or (o[0], 1) not in common]
        self.join(self.group_of[a], self.group_of[b], common, wish)

    def join(self, first: int, second: int, common: Sequence[Option], wish: Wish) -> None:
        """Merge two groups, if a common loop is legal and no path leads out of both and back.

        Groups on such a path are merged too where that is possible: `s[0] = x[0]` runs in the loop
        of `x` and `s`, at 0.
        """
        between = self.paths.between(first, second)
        late = tuple(m for k in (*between, second) for m in self.groups[k].members)
        members = tuple(sorted((*self.groups[first].members, *late), key=self.place.__getitem__))
        inside = [
            e
            for e in within(members, self.edges)
            if self.group_of[e.flow.writer] != self.group_of[e.flow.reader]
        ]
        options: list[Option] = []
        for option in common:
            pins = self.pins((first, *between, second), between, option)
            if pins is not None and wish in (Wish.LATE, Wish.DELAYED):
                pins = self.delayed(late, inside, option, pins)
            if pins is None or not all(self.forwards(e, option, pins) for e in inside):
                if wish is Wish.FAVOURITE and not options:
                    return
                continue
            if pins:  # they are valid for this option alone
                self.replace((first, *between, second), members, (option,), pins)
                return
            options.append(option)
        if options:
            self.replace((first, *between, second), members, tuple(options), {})

    def replace(
        self,
        old: tuple[int, ...],
        members: tuple[str, ...],
        options: tuple[Option, ...],
        pins: Pins,
    ) -> None:
        """Replace several groups by one."""
        for k in old[1:]:
            del self.groups[k]
        self.groups[old[0]] = LoopGroup(members=members, options=options, pins=pins)
        self.group_of.update(dict.fromkeys(members, old[0]))
        self.paths.merge(old)

    def pins(self, parts: Sequence[int], between: Sequence[int], option: Option) -> Pins | None:
        """The pins of the merged group for an option; `None` if some group cannot take part."""
        guests = [k for k in parts if option not in self.groups[k].options]
        guests = [k for k in guests if option in self.groups[k].guest]
        pinned = self.pinned([k for k in between if k not in guests], option[0])
        if pinned is None:
            return None
        group_pins = {m: e for k in parts for m, e in self.groups[k].pins.items()}
        guest_pins = {m: e for k in guests for m, e in self.groups[k].guest[option].items()}
        return {**group_pins, **guest_pins, **pinned}

    def delayed(
        self, late: Sequence[str], inside: Sequence[FlowEdge], option: Option, pins: Pins
    ) -> Pins | None:
        """The pins with `late` members delayed as far as needed; `None` if no constant suffices."""
        dim, sign = option
        steps = 0
        for e in inside:
            if e.flow.reader in late and e.flow.writer not in late:
                gap = self.gap(e, option, pins)
                if gap is None:
                    return None
                steps = max(steps, gap)
        if not steps:
            return pins
        return {**pins, **{m: pins.get(m, ix.Sym(dim)) + sign * steps for m in late}}

    def gap(self, e: FlowEdge, option: Option, pins: Pins) -> int | None:
        """The most steps by which a reader precedes its writer; `None` if they are unbounded."""
        dim, sign = option
        reader = coordinate(self.problem, e.flow.reader, dim, pins).as_map()
        writer = coordinate(self.problem, e.flow.writer, dim, pins).as_map()
        gaps = e.needs.apply_domain(reader).apply_range(writer).deltas()
        most = gaps.dim_max_val(0) if sign > 0 else gaps.dim_min_val(0).neg()
        return integer(most) if most.is_int() else None

    def pinned(self, between: Sequence[int], dim: str) -> dict[str, ix.Expr] | None:
        """The positions in a loop of tasks that lack its dimension; `None` if one has none."""
        members = [m for k in between for m in self.groups[k].members]
        if any(dim in self.problem.tasks[m].dims for m in members):
            return None
        places = list(dict.fromkeys(self.places(members, dim)))
        if members and len(places) != 1:
            return None
        return dict.fromkeys(members, places[0]) if members else {}

    def places(self, members: Sequence[str], dim: str) -> Iterator[ix.Expr]:
        """The coordinates at which tasks write, or else read, tensors with the dimension."""
        flows = [e.flow for e in self.edges]
        written = [
            f.written[f.tensor.dims.index(dim)]
            for f in flows
            if f.writer in members and dim in f.tensor.dims
        ]
        read = [
            f.read[f.tensor.dims.index(dim)]
            for f in flows
            if f.reader in members and dim in f.tensor.dims
        ]
        points = [p for p in (written or read) if not isinstance(p, ix.Slice)]
        is_dim = self.problem.space.universe.is_dim
        yield from (p for p in points if not any(is_dim(n) for n in symbols(p)))

    def links(self) -> dict[int, list[int]]:
        """The groups that read from each group, by number."""
        links: dict[int, list[int]] = {k: [] for k in self.groups}
        for e in self.edges:
            a, b = self.group_of[e.flow.writer], self.group_of[e.flow.reader]
            if a != b and b not in links[a]:
                links[a].append(b)
        return links

    def forwards(self, e: FlowEdge, option: Option, pins: Pins) -> bool:
        """Whether no dependence of the edge runs backwards along the option."""
        return forwards(self.problem, e, option, pins)


def within(members: tuple[str, ...], edges: Sequence[FlowEdge]) -> list[FlowEdge]:
    """The edges between members."""
    inside = frozenset(members)
    return [e for e in edges if e.flow.reader in inside and e.flow.writer in inside]


def forwards(problem: SchedulingProblem, e: FlowEdge, option: Option, pins: Pins) -> bool:
    """Whether no dependence of the edge runs backwards along the option."""
    dim, sign = option
    if e.flow.reader in pins or e.flow.writer in pins:
        reader = coordinate(problem, e.flow.reader, dim, pins)
        writer = coordinate(problem, e.flow.writer, dim, pins)
        early = reader.lt_map(writer) if sign > 0 else reader.gt_map(writer)
        return bool(e.needs.intersect(early).is_empty())
    first, second = _positions(problem, e, dim)
    order = e.needs.order_lt if sign > 0 else e.needs.order_gt
    return bool(order(D.in_, first, D.out, second).is_empty())


def inside_loop(problem: SchedulingProblem, e: FlowEdge, dim: str, pins: Pins) -> FlowEdge:
    """The edge with the dependences that a loop over the dimension does not carry."""
    if e.flow.reader in pins or e.flow.writer in pins:
        reader = coordinate(problem, e.flow.reader, dim, pins)
        same = reader.eq_map(coordinate(problem, e.flow.writer, dim, pins))
        return FlowEdge(e.flow, e.needs.intersect(same))
    first, second = _positions(problem, e, dim)
    return FlowEdge(e.flow, e.needs.equate(D.in_, first, D.out, second))


def meet(problem: SchedulingProblem, flow: Flow, dim: str, pins: Pins) -> bool:
    """Whether the reader and the writer of a flow run in a same step of a loop."""
    reader, writer = (
        problem.space.set(problem.tasks[task])
        .set_tuple_name(problem.labels[task])
        .apply(coordinate(problem, task, dim, pins).as_map())
        for task in (flow.reader, flow.writer)
    )
    return not reader.intersect(writer).is_empty()


def coordinate(problem: SchedulingProblem, task: str, dim: str, pins: Pins) -> isl.PwAff:
    """The position of a task's points along a dimension."""
    at = problem.space.frame.coordinates(problem.tasks[task].dims, problem.labels[task])
    return problem.space.frame.value(pins.get(task, ix.Sym(dim)), at)


def _positions(problem: SchedulingProblem, e: FlowEdge, dim: str) -> tuple[int, int]:
    tasks = problem.tasks
    return tasks[e.flow.reader].dims.index(dim), tasks[e.flow.writer].dims.index(dim)
