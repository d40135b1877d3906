"""The scheduling problem: tasks, and the flows of data between them.

Rules, each of which costs loops, minutes or correctness when broken: sizes stay symbolic; the
proximity is not the dependence (see `proximity.py`); dependences of a statement on itself get no
proximity; isl's options keep their defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tempoc.base.effort import EFFORT
from tempoc.poly.isl import isl
from tempoc.poly.relations import maps
from tempoc.poly.relations.run_lengths import EndDependence, OpenRun, end_dependences, open_run
from tempoc.poly.relations.space import Space
from tempoc.poly.scheduling import proximity as hints
from tempoc.poly.scheduling.time_limit import NoSchedule, solve
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import divisions, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A data flow from a writer through a tensor to a reader, in index expressions.

    The reader reads the tensor at `read` (in its own dimensions); the writer writes it at `written`
    (in its own; maybe slices) where `where` holds. `forwarded`: a reader that is its own writer may
    read in one instance what that very instance writes. With ``waits`` nothing is read: the writer
    decides whether a bound ends, and the reader depends on the decision.
    """

    reader: str
    writer: str
    tensor: Domain
    read: tuple[ix.Entry, ...]
    written: tuple[ix.Entry, ...]
    where: ix.Expr = ix.TRUE
    forwarded: bool = False
    waits: EndDependence | None = None


class Unschedulable(Exception):
    """No order of execution respects all dependences among `tasks`."""

    def __init__(self, tasks: tuple[str, ...]) -> None:
        super().__init__(", ".join(tasks))
        self.tasks = tasks


class SchedulingProblem:
    """Tasks and the flows between them, as isl relations in the symbolic space.

    ``late`` are tasks that should share the loops of their readers rather than of their writers.
    ``stuck`` may find, faster than isl, some of given tasks that have no order.
    """

    def __init__(
        self,
        space: Space,
        tasks: Mapping[str, Domain],
        flows: Sequence[Flow],
        late: Collection[str] = (),
        stuck: Callable[[Sequence[str]], Sequence[str]] = lambda tasks: (),
    ) -> None:
        self.space = open_run(space) if space.universe.ended else space.symbolic
        self.plain = space.symbolic
        self.tasks = tasks
        self.flows = flows
        self.late = late
        self.stuck = stuck
        # isl orders independent statements by name; numbers keep that away from the user's names.
        self.labels = {name: f"S{k:04d}" for k, name in enumerate(tasks)}
        self.names = {label: name for name, label in self.labels.items()}
        self._validity: dict[Flow, isl.Map] = {}

    @cached_property
    def guards(self) -> Mapping[str, ix.Expr]:
        """The conditions with remainders that the loops of `arrange` do not take into account.

        isl looks for a stride that all points of a loop have in common, in steps that grow with the
        fifth power of the number of such conditions: 24 took 40 s. Few are no trouble. What names a
        length does not hold for the largest one as for others, and is taken into account.
        """
        lengths = {*self.space.universe.lengths}
        guards: dict[str, ix.Expr] = {}
        for name, domain in self.tasks.items():
            parts = [c for c in conjuncts(domain.where) if divisions(c)]
            guard = ix.conjunction(*(c for c in parts if lengths.isdisjoint(symbols(c))))
            if guard != ix.TRUE:
                guards[name] = guard
        return guards if len({*guards.values()}) > EFFORT.loop_remainders else {}

    def narrowed(self, schedule: isl.Schedule, tasks: Collection[str]) -> isl.Schedule:
        """A schedule of `arrange` for their own points of some tasks, without those in between."""
        domain = isl.UnionSet.empty(self.space.frame.param_space)
        for task, own in self.tasks.items():
            at = own if task in tasks else self.placed(task)
            domain = domain.union(self.points(task, at))
        return schedule.intersect_domain(domain)

    def placed(self, task: str) -> Domain:
        """The points at which a task stands in loops: its own, and those its guard leaves out."""
        domain, guard = self.tasks[task], conjuncts(self.guards.get(task, ix.TRUE))
        where = ix.conjunction(*(c for c in conjuncts(domain.where) if c not in guard))
        return replace(domain, where=where)

    def dependence(self, flow: Flow) -> isl.Map:
        """The dependences of a flow: reader points to writer points."""
        relation = self._validity.get(flow)
        if relation is None:
            relation = self._wait(flow) if flow.waits else self._relation(flow, flow.read)
            self._validity[flow] = relation
        return relation

    def _wait(self, flow: Flow) -> isl.Map:
        assert flow.waits is not None
        relation = end_dependences(self.plain, flow.waits, flow.tensor)
        return maps.named(relation, self.labels[flow.reader], self.labels[flow.writer])

    def _linked(self, space: OpenRun, flow: Flow, entries: tuple[ix.Entry, ...]) -> isl.Map:
        """The dependences for unknown lengths: of points that exist for the same length."""
        writer = self.tasks[flow.writer]
        at = Domain(writer.dims, ix.conjunction(writer.where, flow.where))
        reads, writes = (self.tasks[flow.reader], entries), (at, flow.written)
        about = reads, writes, flow.tensor
        return space.known.once(("linked", *about), lambda: space.through(*about))

    def _relation(self, flow: Flow, entries: tuple[ix.Entry, ...]) -> isl.Map:
        key = ("dependence", *self.ends(flow), entries)
        relation = self.space.known.once(key, lambda: self._unnamed(flow, entries))
        return maps.named(relation, self.labels[flow.reader], self.labels[flow.writer])

    def ends(self, flow: Flow) -> tuple[Hashable, ...]:
        """What the dependences of a flow depend on besides what is read, whoever reads it."""
        apart = flow.forwarded and flow.reader == flow.writer
        reader, writer = self.tasks[flow.reader], self.tasks[flow.writer]
        return reader, writer, flow.tensor, flow.written, flow.where, apart, flow.waits

    def _unnamed(self, flow: Flow, entries: tuple[ix.Entry, ...]) -> isl.Map:
        space = self.space
        if isinstance(space, OpenRun):
            relation = self._linked(space, flow, entries)
        else:
            relation = self._plain(space, flow, entries)
        if flow.forwarded and flow.reader == flow.writer:
            relation = relation.subtract(isl.Map.identity(relation.get_space()))
        return maps.populated(relation).coalesce()

    def _plain(self, space: Space, flow: Flow, entries: tuple[ix.Entry, ...]) -> isl.Map:
        writer = self.tasks[flow.writer]
        reads = space.access_map(self.tasks[flow.reader], entries, flow.tensor)
        at = Domain(writer.dims, ix.conjunction(writer.where, flow.where))
        plain = all(e == ix.Sym(d) for d, e in zip(flow.tensor.dims, flow.written, strict=True))
        if plain and writer.dims == flow.tensor.dims:
            return reads.intersect_range(space.set(at))
        return reads.apply_range(space.access_map(at, flow.written, flow.tensor).reverse())

    def hint(self, flow: Flow) -> isl.Map | None:
        """The pairs of points that should be close in time; `None` for a task with itself."""
        if flow.reader == flow.writer or flow.waits is not None:
            return None
        reader, writer = self.tasks[flow.reader], self.tasks[flow.writer]
        universe = self.space.universe
        near = hints.neighbours(flow.read, flow.written, writer, universe)
        if near is None:
            last = tuple(hints.last_element(e, universe) for e in flow.read)
            return self.dependence(flow) if last == flow.read else self._relation(flow, last)
        at = Domain(reader.dims, ix.conjunction(reader.where, near[1]))
        pairs = self.space.access_map(at, near[0], writer)
        return maps.named(pairs, self.labels[flow.reader], self.labels[flow.writer])

    def points(self, task: str, at: Domain | None = None) -> isl.UnionSet:
        """The points at which a task is placed, or others, under its label."""
        named = self.space.set(at or self.placed(task)).set_tuple_name(self.labels[task])
        return named.to_union_set()

    def schedule(self, tasks: Sequence[str], needs: Sequence[tuple[Flow, isl.Map]]) -> isl.Schedule:
        """The schedule that isl finds for some tasks under some dependences (parts of the flows').

        `Unschedulable` if there is none, `TooSlow` if isl exceeds its time limit.
        """
        if len(tasks) > EFFORT.scheduled_statements and self.stuck(tasks):
            raise Unschedulable(tuple(tasks))
        params = self.space.frame.param_space
        domain, validity = isl.UnionSet.empty(params), isl.UnionMap.empty(params)
        proximity = validity
        for task in tasks:
            domain = domain.union(self.points(task))
        for flow, need in needs:
            validity = validity.union(need.reverse().to_union_map())
            hint = self.hint(flow)
            if hint is not None:
                proximity = proximity.union(hint.reverse().to_union_map())
        # By a context isl would simplify dependences: of those that go back by `C` steps it would
        # no longer see that `C >= 1`.
        facts = self.space.context
        constraints = isl.ScheduleConstraints.on_domain(domain.intersect_params(facts))
        constraints = constraints.set_validity(validity.intersect_params(facts))
        constraints = constraints.set_proximity(proximity)
        try:
            return solve(constraints, len(tasks))
        except NoSchedule as error:
            raise Unschedulable(tuple(tasks)) from error
