"""A partition of nodes into islands that may grow, as long as every join is legal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tempoc.ops.ending import Until
from tempoc.ops.source import Param
from tempoc.passes.legality import Dependence, is_schedulable, loops
from tempoc.sdg.graph import Graph
from tempoc.sdg.query import components, reachable
from tempoc.sdg.turns import turn
from tempoc.symbolic.coordinates import coordinates
from tempoc.symbolic.domain import Domain


@dataclass(slots=True, kw_only=True)
class Islands:
    """The units (computed nodes), what they need, and for each unit the island that it is on.

    An island is called after its first unit. Only units of equal ``purposes`` come together.
    ``stands``: the dimensions along which a unit has coordinates. ``joint``: the dependences
    between islands; inside an island only what is not at one point.
    """

    units: tuple[str, ...]
    domains: dict[str, Domain]
    vectors: dict[str, tuple[str, ...]]
    stands: dict[str, tuple[str, ...]]
    purposes: dict[str, tuple[str, ...]]
    needs: tuple[Dependence, ...]
    homes: dict[str, str]
    refused: dict[tuple[str, str], None]
    joint: tuple[Dependence, ...]

    @classmethod
    def alone(cls, graph: Graph, units: Sequence[str], needs: Iterable[Dependence]) -> Islands:
        """Each unit on an island of its own; dependences on other nodes do not count."""
        known = {*units}
        nodes = {u: graph.nodes[u] for u in units}
        dims = {u: loops(n.domain.dims, n.vector) for u, n in nodes.items()}
        needs = tuple(d for d in needs if d.sink in known and d.source in known)
        return cls(
            units=tuple(units),
            domains={u: n.domain for u, n in nodes.items()},
            vectors={u: n.vector for u, n in nodes.items()},
            stands={u: tuple(coordinates(graph.universe, dims[u])) for u in units},
            purposes=purposes(graph),
            needs=needs,
            homes={u: u for u in units},
            refused={},
            joint=needs,
        )

    def join(self, a: str, b: str, limit: int = 0) -> bool:
        """Bring the islands of two units together if that is legal; whether they are together."""
        first, second = (self.homes[x] for x in (a, b))
        if first == second:
            return True
        kinds = self.domains, self.vectors, self.purposes
        alike = all(kind[a] == kind[b] for kind in kinds)
        if not alike or (first, second) in self.refused or (second, first) in self.refused:
            return False
        if self.units.index(first) > self.units.index(second):
            first, second = second, first
        members = [u for u in self.units if self.homes[u] in (first, second)]
        small = not limit or len(members) <= limit
        if small and self.ordered(members) is not None and self.is_legal(first, second):
            self.joint = self.contracted(first, second)
            for member in members:
                self.homes[member] = first
            self.refused.clear()
            return True
        self.refused[first, second] = None
        return False

    def ordered(self, members: Sequence[str]) -> tuple[str, ...] | None:
        """Members in an order in which one instance can run, or None if there is no such order."""
        inside = {*members}
        sources: dict[str, list[str]] = {m: [] for m in members}
        for d in self.needs:
            if d.sink in inside and d.source in inside and d.may_stay and d.sink != d.source:
                if d.apart:
                    return None
                sources[d.sink].append(d.source)
        parts = components(members, sources.__getitem__)
        if any(len(part) > 1 for part in parts):
            return None
        return tuple(part[0] for part in parts)

    def is_legal(self, first: str, second: str) -> bool:
        """Whether two islands may become one."""
        if not self.keeps_direction(first, second):
            return False
        after = self.contracted(first, second)
        islands = [h for h in dict.fromkeys(self.homes.values()) if h != second]
        part = self.cycle_of(first, islands, after)
        return is_schedulable(part, after, {h: self.stands[h] for h in part})

    def contracted(self, first: str, second: str) -> tuple[Dependence, ...]:
        """The dependences between islands when the second has become part of the first."""
        pair = (first, second)
        found: dict[Dependence, None] = {}
        for d in self.joint:
            if d.sink in pair or d.source in pair:
                sink = first if d.sink == second else d.sink
                source = first if d.source == second else d.source
                whole = d.sink == d.source or sink != source
                for part in (d,) if whole else d.moving():
                    found[replace(part, sink=sink, source=source)] = None
        others = (d for d in self.joint if d.sink not in pair and d.source not in pair)
        return (*others, *found)

    def cycle_of(
        self, island: str, islands: Sequence[str], needs: Sequence[Dependence]
    ) -> tuple[str, ...]:
        """The islands that are in a cycle with this one, itself included."""
        sources: dict[str, dict[str, None]] = {name: {} for name in islands}
        for d in needs:
            sources[d.sink][d.source] = None
        parts = components(islands, sources.__getitem__)
        return next(part for part in parts if island in part)

    def keeps_direction(self, first: str, second: str) -> bool:
        """Whether a join makes no loop run backwards that could run forwards before.

        A read of later points between islands that are in no cycle along that dimension would force
        the joint loop to run backwards, and with it all that is delayed until then.
        """
        pair = {first, second}
        across = [
            part
            for d in self.joint
            if d.sink != d.source and d.sink in pair and d.source in pair
            for part in d.moving()
        ]
        for part in across:
            dim, signs = next((k, s) for k, s in part.signs if 0 not in s)
            if signs == {-1} and not self.is_cyclic(first, second, dim):
                return False
        return True

    def is_cyclic(self, first: str, second: str, dim: str) -> bool:
        """Whether two islands are in a cycle that moves along one dimension only."""
        along = [d for d in self.joint if all(0 in s or k == dim for k, s in d.signs)]
        islands = list(dict.fromkeys(self.homes.values()))
        return second in self.cycle_of(first, islands, along)


def purposes(graph: Graph) -> dict[str, tuple[str, ...]]:
    """For each node what it is needed for: the params whose defaults it serves, "" for all else.

    A default is not computed where the param is given, so nothing else may depend on its kernels.
    What is seen outside (effects, calls of host functions) has a purpose of its own each.
    """
    params = [n for n in graph.nodes.values() if isinstance(n.op, Param) and n.inputs]
    cut = {p.name: replace(p, inputs=()) for p in params}
    without = replace(graph, nodes={**graph.nodes, **cut})
    outward = [n.name for n in graph.nodes.values() if turn(n) is not None]
    ends = [n.name for n in graph.nodes.values() if isinstance(n.op, Until)]
    needed = {"": reachable(without, [*(o.source for o in graph.outputs), *outward, *ends])}
    needed |= {p.name: reachable(without, [e.source for e in p.inputs]) for p in params}
    found = {n: tuple(k for k, nodes in needed.items() if n in nodes) for n in graph.nodes}
    return found | {name: (f"turn {name}",) for name in outward}
