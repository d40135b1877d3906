"""Which nodes are computed tile by tile together: what is large along an axis, and what it feeds.

From one large tensor the axis is followed (``axis_flow.py``), up to operands and down to
readers. All large tensors that are met belong to the region, and what leads from one to another.
Where the axis is reduced, the reduction is done tile by tile too: an *end*. Small tensors that come
out of the region with the axis are ends of another kind: they are put together again (``whole``),
unless all that is read of them is reduced, without a product in between, in which case the region
goes on to there.

What needs an end, in the same iteration of all loops, comes after the loop over tiles that made it.
Nodes that come after have a later *phase*; what they read of large tensors is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.ops.axis_links import Link
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.convolution import Conv
from tempoc.passes.analysis.dependence import Dependence
from tempoc.passes.tiling.axis_flow import AxisAt, AxisFlow, VectorDim, Ways
from tempoc.sdg.graph.query import components
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class TileRegion:
    """Nodes along an axis of this extent, each with its way.

    ``kept`` keep the axis, ``ends`` reduce it; both in topological order. ``whole`` are those of
    ``kept`` that others read.
    """

    extent: Expr
    kept: Mapping[str, AxisFlow]
    ends: Mapping[str, AxisFlow]
    whole: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Finder:
    """Finds the region of a large tensor; ``is_large`` tells which are."""

    ways: Ways
    is_large: Callable[[str], bool]
    kept: dict[str, AxisFlow] = field(default_factory=dict)
    passed: dict[str, AxisFlow] = field(default_factory=dict)
    turned: set[str] = field(default_factory=set)

    def region(self, start: AxisAt) -> TileRegion:
        """The region of a node's axis."""
        self.kept = {start.node: start.way}
        while self.add_large() or self.add_between():
            pass
        self.add_results()
        ends = {m.node: m.way for m in self.reached() if m.way.is_reduced}
        kept = self.sorted(self.kept)
        whole = tuple(n for n in kept if self.is_read_whole(n, ends))
        extent = self.ways.extent(start)
        return TileRegion(extent=extent, kept=kept, ends=self.sorted(ends), whole=whole)

    def sorted(self, flows: Mapping[str, AxisFlow]) -> dict[str, AxisFlow]:
        """Operands first."""
        return {n: flows[n] for n in sorted(flows, key=self.ways.order.__getitem__)}

    def reached(self, *, turned: bool = True) -> list[AxisAt]:
        """Who reads the kept nodes along the axis and is none of them."""
        kept = (AxisAt(n, k) for n, k in self.kept.items() if turned or n not in self.turned)
        every = (m for at in kept for m in self.ways.readers(at))
        return [m for m in every if m is not None and m.node not in self.kept]

    def add_large(self) -> bool:
        """Add the large tensors next to those that are there."""
        count = len(self.kept)
        worklist = list(self.kept.items())
        while worklist:
            at = AxisAt(*worklist.pop())
            for name, way in self.near(at):
                if name not in self.kept and not way.is_reduced and self.is_large(name):
                    self.kept[name] = way
                    worklist.append((name, way))
        return len(self.kept) > count

    def near(self, at: AxisAt) -> list[AxisAt]:
        """Where the axis of a node comes from and goes to; as a dimension, only in columns."""
        readers = [m for m in self.ways.readers(at) if m is not None]
        if at.node in self.turned:
            readers = [m for m in readers if m.way == at.way and self.has_columns(m)]
        turns = self.ways.turn(at.node) is not None and isinstance(at.way, Link)
        if turns or at.node in self.turned:
            self.turned |= {m.node for m in readers if isinstance(m.way, VectorDim)}
        return readers if at.node in self.turned else [*self.ways.sources(at), *readers]

    def has_columns(self, at: AxisAt) -> bool:
        """Whether what a node makes at a point of a dimension is as long as that."""
        assert isinstance(at.way, VectorDim)
        long = {at.way.dim, self.ways.graph.universe.dim(at.way.dim).bound}
        shapes = (t.shape for t in self.ways.graph.nodes[at.node].types)
        return any(long & {*symbols(e)} for shape in shapes for e in shape)

    def add_between(self) -> bool:
        """Add what leads from the kept nodes to a large one, or back to a kept one."""
        self.passed = {m.node: m.way for m in self.reached(turned=False)}
        self.passed = {n: way for n, way in self.passed.items() if not way.is_reduced}
        worklist = list(self.passed.items())
        while worklist:
            for m in self.ways.readers(AxisAt(*worklist.pop())):
                if m is None or m.way.is_reduced or m.node in self.kept or m.node in self.passed:
                    continue
                self.passed[m.node] = m.way
                worklist.append((m.node, m.way))
        backward = [n for n in self.passed if self.is_large(n)]
        operands = {m.node for n, k in self.kept.items() for m in self.ways.sources(AxisAt(n, k))}
        backward += [n for n in self.passed if n in operands and n not in backward]
        while backward:
            name = backward.pop()
            if name not in self.kept:
                self.kept[name] = self.passed[name]
                sources = self.ways.sources(AxisAt(name, self.passed[name]))
                backward += [m.node for m in sources if self.passed.get(m.node) == m.way]
        return any(n in self.kept for n in self.passed)

    def add_results(self) -> None:
        """Add small results, and what is made of them where it comes to an end soon."""
        first = [m for m in self.reached() if not m.way.is_reduced]
        soon = self.ending()
        large = [AxisAt(n, k) for n, k in self.kept.items() if self.is_large(n)]
        near = {m.node for at in large for m in self.ways.readers(at) if m is not None}
        worklist = [m for m in first if m.node in near or m.node in soon]
        while worklist:
            at = worklist.pop()
            if at.node not in self.kept:
                self.kept[at.node] = at.way
                onward = (m for m in self.ways.readers(at) if m is not None)
                worklist += [m for m in onward if m.node in soon and not m.way.is_reduced]

    def ending(self) -> set[str]:
        """The small nodes of which all that is read is reduced without a product before."""
        ending: set[str] = set()
        outputs = {o.source for o in self.ways.graph.outputs}
        for name in sorted(self.passed, key=self.ways.order.__getitem__, reverse=True):
            readers = list(self.ways.readers(AxisAt(name, self.passed[name])))
            product = isinstance(self.ways.graph.nodes[name].op, MatMul | Einsum | Conv)
            if product or name in outputs or not readers or None in readers:
                continue
            ends = (
                m.way.is_reduced
                or (m.node in ending and self.passed[m.node] == m.way)
                or self.kept.get(m.node) == m.way
                for m in readers
                if m is not None
            )
            if all(ends):
                ending.add(name)
        return ending

    def is_read_whole(self, name: str, ends: Mapping[str, AxisFlow]) -> bool:
        """Whether somebody reads all of a kept node, not its tiles."""
        if any(o.source == name for o in self.ways.graph.outputs):
            return True
        known = {**self.kept, **ends}
        readers = self.ways.readers(AxisAt(name, self.kept[name]))
        return any(m is None or known.get(m.node) != m.way for m in readers)


OperandAxes = Mapping[str, Sequence[tuple[str, int]]]
"""For each node what it needs, and whether it waits for a loop over tiles to end (1, or 0)."""


def needs(ways: Ways, region: TileRegion) -> OperandAxes:
    """What each node needs if the region is computed tile by tile."""
    operands: dict[str, list[tuple[str, int]]] = {}
    for need in ways.needs:
        in_region = need.source in region.kept or need.source in region.ends
        later = in_region and not _is_aligned(ways, region, need)
        operands.setdefault(need.sink, []).append((need.source, int(later)))
    return operands


def side_by_side(ways: Ways, region: TileRegion, needs: OperandAxes) -> OperandAxes:
    """The same, and what points read columns of is made in one loop: it is large, and kept there.

    Else readers that are put into one kernel may have to wait for each other's loops.
    """
    turned = [name for name in region.kept if ways.turn(name) is not None]
    every = [need for name in turned for need in needs.get(name, ())]
    return {**needs, **dict.fromkeys(turned, every)}


def phases(ways: Ways, region: TileRegion, needs: OperandAxes) -> dict[str, int] | None:
    """For each node after how many loops over tiles it can be computed.

    ``None`` if nodes of the region wait for themselves, or if their tiles are made of earlier ones
    of their own: of a recurrence no tile can be computed alone.
    """
    if _is_recurrent(ways, region):
        return None
    order: dict[str, int] = {}
    for part in components(list(ways.order), lambda n: [s for s, _ in needs.get(n, ())]):
        if len(part) > 1 and any(n in region.kept or n in region.ends for n in part):
            return None
        for name in part:
            before = (order.get(s, 0) + later for s, later in needs.get(name, ()))
            order[name] = max(before, default=0)
    return order


def _is_recurrent(ways: Ways, region: TileRegion) -> bool:
    """Whether the way of the axis leads back to where it was."""
    sources = {
        name: [m.node for m in ways.sources(AxisAt(name, way)) if region.kept.get(m.node) == m.way]
        for name, way in region.kept.items()
    }
    parts = components(list(sources), sources.__getitem__)
    return any(len(part) > 1 or part[0] in sources[part[0]] for part in parts)


def _is_aligned(ways: Ways, region: TileRegion, need: Dependence) -> bool:
    """Whether all that a node of the region reads of another is the tile at hand."""
    way = region.kept.get(need.sink) or region.ends.get(need.sink)
    if way is None or need.source not in region.kept:
        return False
    at, same = AxisAt(need.sink, way), AxisAt(need.source, region.kept[need.source])
    pairs = zip(ways.graph.nodes[need.sink].inputs, ways.places(at), strict=True)
    aligned = [ways.source(at, e, axis) == same for e, axis in pairs if e.source == need.source]
    return bool(aligned) and all(aligned)
