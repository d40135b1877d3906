"""A partition of nodes into groups that grow by legal joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.base.graphs import strongly_connected_components
from tempoc.ops.control.until import Until
from tempoc.ops.tensor.source import Param
from tempoc.passes.analysis.dependence import Dependence, loop_dims
from tempoc.passes.analysis.full_extent import later_rounds
from tempoc.passes.fusion.loop_nests import LoopNests
from tempoc.passes.fusion.loop_starts import LoopStarts
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import ancestors
from tempoc.symbolic.coordinates import coordinates


@dataclass(slots=True, kw_only=True)
class Partition:
    """The units (computed nodes), their dependences, and for each unit its group (``homes``).

    A group is named after its first unit. Only units of one kind (``kinds``) can join: of equal
    domain, purpose and vectorized dimensions, and not postponed to different loops. ``nests`` has
    the dependences between groups, and inside a group those that are not at one point. ``inward``
    has the dependences of each unit.
    """

    units: tuple[str, ...]
    place: dict[str, int]
    kinds: dict[str, int]
    needs: tuple[Dependence, ...]
    inward: dict[str, list[Dependence]]
    homes: dict[str, str]
    members: dict[str, list[str]]
    refused: set[tuple[str, str]]
    nests: LoopNests
    starts: LoopStarts

    @classmethod
    def alone(cls, graph: Graph, units: Sequence[str], needs: Iterable[Dependence]) -> Partition:
        """Each unit in a group of its own; dependences on other nodes do not count."""
        known = {*units}
        nodes = {u: graph.nodes[u] for u in units}
        needs = tuple(d for d in needs if d.sink in known and d.source in known)
        inward: dict[str, list[Dependence]] = {u: [] for u in units}
        for d in needs:
            inward[d.sink].append(d)
        aims = purposes(graph)
        late = postponed(graph)
        kinds: dict[object, int] = {}
        dims = {u: loop_dims(n.domain.dims, n.vector) for u, n in nodes.items()}
        stands = {d: tuple(coordinates(graph.universe, d)) for d in dict.fromkeys(dims.values())}
        return cls(
            units=tuple(units),
            place={u: k for k, u in enumerate(units)},
            kinds={
                u: kinds.setdefault((n.domain, n.vector, aims[u], late.get(u)), len(kinds))
                for u, n in nodes.items()
            },
            needs=needs,
            inward=inward,
            homes={u: u for u in units},
            members={u: [u] for u in units},
            refused=set(),
            nests=LoopNests(units, needs, {u: stands[d] for u, d in dims.items()}),
            starts=LoopStarts.of(graph, needs, dims),
        )

    def join(self, a: str, b: str, limit: int = 0) -> bool:
        """Join the groups of two units if that is legal; whether they are one group now."""
        first, second = self.homes[a], self.homes[b]
        if first == second:
            return True
        if self.place[first] > self.place[second]:
            first, second = second, first
        if self.kinds[a] != self.kinds[b] or (first, second) in self.refused:
            return False
        members = self.members[first] + self.members[second]
        small = not limit or len(members) <= limit
        if not (small and self.has_order(first, second) and self.is_legal(first, second)):
            self.refused.add((first, second))
            return False
        self.nests.join(first, second)
        self.members[first] = members
        for member in self.members.pop(second):
            self.homes[member] = first
        self.refused.clear()
        return True

    def untried(self, unit: str) -> bool:
        """Whether some join of a unit with one before it was not refused already."""
        home, place = self.homes[unit], self.place[unit]
        return any(
            self.kinds[other] == self.kinds[unit]
            and self.place[other] < place
            and other != home
            and (other, home) not in self.refused
            and (home, other) not in self.refused
            for other in self.members
        )

    def has_order(self, first: str, second: str) -> bool:
        """Whether one instance of the union of two groups can run its members in some order."""
        across = [d for d in self.nests.between(first, second) if d.may_stay]
        if any(d.apart for d in across):
            return False
        if len({d.sink for d in across}) < 2:
            return True
        return instance_order(self.members[first] + self.members[second], self.inward) is not None

    def is_legal(self, first: str, second: str) -> bool:
        """Whether two groups may become one."""
        return (
            self.keeps_direction(first, second)
            and self.keeps_loops(first, second)
            and self.nests.may_join(first, second)
        )

    def keeps_loops(self, first: str, second: str) -> bool:
        """Whether a join of groups that share nothing postpones no loop."""
        some, others = self.members[first], self.members[second]
        is_horizontal = not self.nests.between(first, second)
        return not is_horizontal or not (
            self.starts.postpones(some, others) or self.starts.parts_loop(some, others)
        )

    def keeps_direction(self, first: str, second: str) -> bool:
        """Whether a join reverses no loop that could run forward before.

        A read of later points between groups that are in no cycle along that dimension would force
        the joint loop to run backward, and with it all of its consumers.
        """
        for d in self.nests.between(first, second):
            for part in d.moving():
                dim, signs = next((k, s) for k, s in part.signs if 0 not in s)
                if signs == {-1} and not self.nests.is_cyclic(first, second, dim):
                    return False
        return True


def instance_order(
    members: Sequence[str], inward: Mapping[str, Sequence[Dependence]]
) -> tuple[str, ...] | None:
    """The order in which one instance runs its members; None if there is none.

    ``inward`` are the dependences of each of them.
    """
    inside = {*members}
    sources: dict[str, list[str]] = {m: [] for m in members}
    for member in members:
        for d in inward[member]:
            if d.source in inside and d.may_stay and d.sink != d.source:
                if d.apart:
                    return None
                sources[member].append(d.source)
    parts = strongly_connected_components(members, sources.__getitem__)
    if any(len(part) > 1 for part in parts):
        return None
    return tuple(part[0] for part in parts)


def postponed(graph: Graph) -> dict[str, tuple[tuple[str, int], ...]]:
    """Nodes that wait for a later loop over some dimensions, with the numbers of these loops.

    They make large tensors of small ones: joined to a node of an earlier loop, they would be stored
    until the later one.
    """
    late: dict[str, tuple[tuple[str, int], ...]] = {}
    for dim in graph.universe.dims:
        for name, number in later_rounds(graph, dim.name).items():
            if dim.name not in graph.nodes[name].vector:
                late[name] = (*late.get(name, ()), (dim.name, number))
    return late


def purposes(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The purposes of each node: the params whose defaults need it, "" for outputs and effects.

    A default is not computed if the param is given, so nothing else may be in its kernels. Each
    effect (also a call of a host function) has a purpose of its own.
    """
    params = [n for n in graph.nodes.values() if isinstance(n.op, Param) and n.inputs]
    cut = {p.name: replace(p, inputs=()) for p in params}
    without = replace(graph, nodes={**graph.nodes, **cut})
    outward = [n.name for n in graph.nodes.values() if not n.op.pure]
    ends = [n.name for n in graph.nodes.values() if isinstance(n.op, Until)]
    ancestors_of = {"": ancestors(without, [*(o.source for o in graph.outputs), *outward, *ends])}
    ancestors_of |= {p.name: ancestors(without, p.sources) for p in params}
    purposes_of = {
        n: tuple(k for k, nodes in ancestors_of.items() if n in nodes) for n in graph.nodes
    }
    return purposes_of | {name: (f"turn {name}",) for name in outward}
