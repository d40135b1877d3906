"""The region that one loop over tiles computes: large tensors along an axis, and their consumers.

The axis is followed from one large tensor (``axis_flow.py``) to its operands and consumers. All
large tensors on that axis belong to the region, and so do the nodes on paths between them. A node
that reduces the axis is reduced tile by tile too: an *end*. Small results that keep the axis are
reassembled from their tiles (``materialized``), unless all their consumers reduce the axis without
a product in between; then the region extends to those.

A node that depends on an end, in the same iteration of all loops, runs after the loop over tiles of
that end. Such nodes have a later *phase*; large tensors that they read are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.base.graphs import cyclic_nodes, strongly_connected_components
from tempoc.ops.definition.axis_links import Link
from tempoc.passes.analysis.dependence import Dependence
from tempoc.passes.tiling.axis_flow import AxisAt, AxisFlow, AxisFlows, VectorDim
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class TileRegion:
    """Nodes along an axis of this extent, each with the axis at that node.

    ``carriers`` keep the axis, ``ends`` reduce it; both in topological order. ``materialized`` are
    the carriers that nodes outside of the region read.
    """

    extent: Expr
    carriers: Mapping[str, AxisFlow]
    ends: Mapping[str, AxisFlow]
    materialized: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class RegionFinder:
    """Finds the region of a large tensor; ``is_large`` decides which tensors are large.

    ``reachable`` are the nodes to which the axis flows from the carriers; ``along_dim`` the nodes
    at which it has become a dimension.
    """

    flows: AxisFlows
    is_large: Callable[[str], bool]
    carriers: dict[str, AxisFlow] = field(default_factory=dict)
    reachable: dict[str, AxisFlow] = field(default_factory=dict)
    along_dim: set[str] = field(default_factory=set)

    def region(self, start: AxisAt, *others: AxisAt) -> TileRegion:
        """The region of a node's axis, and of the same axis at other nodes."""
        self.carriers = {at.node: at.flow for at in (start, *others)}
        while self.add_large() or self.add_between():
            pass
        self.add_results()
        ends = {m.node: m.flow for m in self.reached() if m.flow.is_reduced}
        carriers = self.sorted(self.carriers)
        materialized = tuple(n for n in carriers if self.is_read_outside(n, ends))
        extent = self.flows.extent(start)
        return TileRegion(
            extent=extent, carriers=carriers, ends=self.sorted(ends), materialized=materialized
        )

    def sorted(self, flows: Mapping[str, AxisFlow]) -> dict[str, AxisFlow]:
        """The nodes in topological order, operands first."""
        return {n: flows[n] for n in sorted(flows, key=self.flows.order.__getitem__)}

    def reached(self, *, turned: bool = True) -> list[AxisAt]:
        """The consumers of carriers along the axis, except carriers."""
        starts = (
            AxisAt(n, k) for n, k in self.carriers.items() if turned or n not in self.along_dim
        )
        every = (m for at in starts for m in self.flows.readers(at))
        return [m for m in every if m is not None and m.node not in self.carriers]

    def add_large(self) -> bool:
        """Add the large neighbours of carriers; whether there were any."""
        count = len(self.carriers)
        worklist = list(self.carriers.items())
        while worklist:
            at = AxisAt(*worklist.pop())
            for name, flow in self.neighbours(at):
                if name not in self.carriers and not flow.is_reduced and self.is_large(name):
                    self.carriers[name] = flow
                    worklist.append((name, flow))
        return len(self.carriers) > count

    def neighbours(self, at: AxisAt) -> list[AxisAt]:
        """The axis in the operands and consumers of a node; as a dimension, only in columns."""
        readers = [m for m in self.flows.readers(at) if m is not None]
        if at.node in self.along_dim:
            readers = [m for m in readers if m.flow == at.flow and self.has_columns(m)]
        turns = self.flows.axis_to_dim(at.node) is not None and isinstance(at.flow, Link)
        if turns or at.node in self.along_dim:
            self.along_dim |= {m.node for m in readers if isinstance(m.flow, VectorDim)}
        return readers if at.node in self.along_dim else [*self.flows.sources(at), *readers]

    def has_columns(self, at: AxisAt) -> bool:
        """Whether a node's result at a point of a dimension is as long as that dimension."""
        assert isinstance(at.flow, VectorDim)
        long = {at.flow.dim, self.flows.graph.universe.dim(at.flow.dim).bound}
        shapes = (t.shape for t in self.flows.graph.nodes[at.node].types)
        return any(long & {*symbols(e)} for shape in shapes for e in shape)

    def add_between(self) -> bool:
        """Add the nodes on paths from carriers to large nodes or back to carriers."""
        self.reachable = {m.node: m.flow for m in self.reached(turned=False)}
        self.reachable = {n: flow for n, flow in self.reachable.items() if not flow.is_reduced}
        worklist = list(self.reachable.items())
        while worklist:
            for m in self.flows.readers(AxisAt(*worklist.pop())):
                if (
                    m is None
                    or m.flow.is_reduced
                    or m.node in self.carriers
                    or m.node in self.reachable
                ):
                    continue
                self.reachable[m.node] = m.flow
                worklist.append((m.node, m.flow))
        backward = [n for n in self.reachable if self.is_large(n)]
        operands = {
            m.node for n, k in self.carriers.items() for m in self.flows.sources(AxisAt(n, k))
        }
        backward += [n for n in self.reachable if n in operands and n not in backward]
        while backward:
            name = backward.pop()
            if name not in self.carriers:
                self.carriers[name] = self.reachable[name]
                sources = self.flows.sources(AxisAt(name, self.reachable[name]))
                backward += [m.node for m in sources if self.reachable.get(m.node) == m.flow]
        return any(n in self.carriers for n in self.reachable)

    def add_results(self) -> None:
        """Add small consumers of large carriers, and the small nodes from there to ends."""
        first = [m for m in self.reached() if not m.flow.is_reduced]
        soon = self.ending()
        large = [AxisAt(n, k) for n, k in self.carriers.items() if self.is_large(n)]
        near = {m.node for at in large for m in self.flows.readers(at) if m is not None}
        worklist = [m for m in first if m.node in near or m.node in soon]
        while worklist:
            at = worklist.pop()
            if at.node not in self.carriers:
                self.carriers[at.node] = at.flow
                onward = (m for m in self.flows.readers(at) if m is not None)
                worklist += [m for m in onward if m.node in soon and not m.flow.is_reduced]

    def ending(self) -> set[str]:
        """The small nodes all of whose consumers reduce the axis, without a product before."""
        ending: set[str] = set()
        outputs = {o.source for o in self.flows.graph.outputs}
        for name in sorted(self.reachable, key=self.flows.order.__getitem__, reverse=True):
            readers = list(self.flows.readers(AxisAt(name, self.reachable[name])))
            product = self.flows.graph.nodes[name].op.contraction
            if product or name in outputs or not readers or None in readers:
                continue
            ends = (
                m.flow.is_reduced
                or (m.node in ending and self.reachable[m.node] == m.flow)
                or self.carriers.get(m.node) == m.flow
                for m in readers
                if m is not None
            )
            if all(ends):
                ending.add(name)
        return ending

    def is_read_outside(self, name: str, ends: Mapping[str, AxisFlow]) -> bool:
        """Whether some node outside of the region reads a carrier."""
        if any(o.source == name for o in self.flows.graph.outputs):
            return True
        inside = {**self.carriers, **ends}
        readers = self.flows.readers(AxisAt(name, self.carriers[name]))
        return any(m is None or inside.get(m.node) != m.flow for m in readers)


PhasedOperands = Mapping[str, Sequence[tuple[str, int]]]
"""For each node its operands, each with the number of loops over tiles (1 or 0) to wait for."""


def phased_operands(flows: AxisFlows, region: TileRegion) -> PhasedOperands:
    """The operands of each node if the region is computed tile by tile."""
    operands: dict[str, list[tuple[str, int]]] = {}
    for need in flows.needs:
        in_region = need.source in region.carriers or need.source in region.ends
        readers = flows.row_readers.get(need.sink, (need.sink,))
        later = in_region and not all(_is_aligned(flows, region, need, r) for r in readers)
        operands.setdefault(need.sink, []).append((need.source, int(later)))
    return operands


def operands_in_one_loop(
    flows: AxisFlows, region: TileRegion, needs: PhasedOperands
) -> PhasedOperands:
    """The same operands, but all tensors of which columns are read are computed in one loop.

    They are large and stored in that loop. In different loops, consumers that are fused into one
    kernel might have to wait for each other's loop.
    """
    turned = [name for name in region.carriers if flows.axis_to_dim(name) is not None]
    every = [need for name in turned for need in needs.get(name, ())]
    return {**needs, **dict.fromkeys(turned, every)}


def phases(flows: AxisFlows, region: TileRegion, needs: PhasedOperands) -> dict[str, int] | None:
    """For each node the number of loops over tiles that must run before it.

    ``None`` if nodes of the region depend on themselves, or if tiles depend on earlier tiles: no
    tile of a recurrence can be computed alone.
    """
    if _is_recurrent(flows, region):
        return None
    order: dict[str, int] = {}
    for part in strongly_connected_components(
        flows.order, lambda n: [s for s, _ in needs.get(n, ())]
    ):
        if len(part) > 1 and any(n in region.carriers or n in region.ends for n in part):
            return None
        for name in part:
            before = (order.get(s, 0) + later for s, later in needs.get(name, ()))
            order[name] = max(before, default=0)
    return order


def _is_recurrent(flows: AxisFlows, region: TileRegion) -> bool:
    """Whether the axis flows in a cycle."""
    sources = {
        name: [
            m.node
            for m in flows.sources(AxisAt(name, flow))
            if region.carriers.get(m.node) == m.flow
        ]
        for name, flow in region.carriers.items()
    }
    return bool(cyclic_nodes(sources, sources.__getitem__))


def computed_in(
    flows: AxisFlows, region: TileRegion, order: Mapping[str, int], is_large: Callable[[str], bool]
) -> dict[str, set[int]]:
    """The phases in which tiles of each carrier are computed: of large ones wherever one reads."""
    computed: dict[str, set[int]] = {n: set() for n in region.carriers}

    def add(at: AxisAt, readers: set[int]) -> None:
        for m in flows.sources(at):
            if region.carriers.get(m.node) == m.flow:
                computed[m.node] |= readers if is_large(m.node) else {order[m.node]}

    for name in region.materialized:
        computed[name].add(order[name])
    for name, flow in region.ends.items():
        add(AxisAt(name, flow), {order[name]})
    for name, flow in reversed([*region.carriers.items()]):
        add(AxisAt(name, flow), computed[name])
    return computed


def late_operands(
    flows: AxisFlows, region: TileRegion, order: Mapping[str, int], is_large: Callable[[str], bool]
) -> set[str]:
    """The small carriers of a later loop over tiles that need no large one of that loop.

    They need no tiles: what they are computed from is small, and stored.
    """
    tiled: set[str] = set()
    late = [n for n in region.carriers if order[n]]
    for name in late:
        sources = flows.sources(AxisAt(name, region.carriers[name]))
        if is_large(name) or any(m.node in tiled for m in sources):
            tiled.add(name)
    return {*late} - tiled


def _is_aligned(flows: AxisFlows, region: TileRegion, need: Dependence, reader: str) -> bool:
    """Whether a node of the region reads only the tile at hand of another, and its neighbours."""
    flow = region.carriers.get(reader) or region.ends.get(reader)
    if flow is None or need.source not in region.carriers:
        return False
    at, same = AxisAt(reader, flow), AxisAt(need.source, region.carriers[need.source])
    if flows.is_neighbour(at):
        return same in flows.sources(at)
    pairs = zip(flows.graph.nodes[reader].inputs, flows.places(at), strict=True)
    aligned = [flows.source(at, e, axis) == same for e, axis in pairs if e.source == need.source]
    return bool(aligned) and all(aligned)
