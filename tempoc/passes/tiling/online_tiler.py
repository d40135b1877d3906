"""Builds tiles from whose terms the maximum so far is subtracted (``online_softmax.py``).

    %e = sum(exp(x - max(x)))         %m.past, %m.now   the maximum before and after a tile
                                      %m.base = maximum{skips_nan=true} %m.now, -3.4e38
                                      %m.scale = exp(%m.past - %m.base)
                                ->    %e.each = sum(exp(x.tile - %m.base))
                                      %e.now = %e.past * %m.scale + %e.each
                                      %e = %e.now[tiles-1] + (%m - %m)

Where all elements so far are ``-inf``, ``x - max`` is NaN; the base is finite there, so that the
terms are 0. Nor is it NaN: terms beyond a ragged tile are 0 in any case (``masked_scores.py``), and
an element that is NaN makes its own term NaN. Adding ``m - m`` in the end makes the result NaN, as
the terms are, where the maximum of all elements is infinite or NaN; otherwise it adds 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tempoc.ops.definition.dtype_text import lowest
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import ExpandDims, Squeeze, Transpose
from tempoc.ops.tensor.source import Literal
from tempoc.passes.tiling.axis_flow import AxisAt
from tempoc.passes.tiling.online_softmax import Axes, Factor, RunningEnd
from tempoc.passes.tiling.tiler import Tiler, TileVersion
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.symbolic.domain import Domain


@dataclass(slots=True, kw_only=True)
class OnlineTiler(Tiler):
    """Builds tiles; the ends in ``running`` are summed along with a maximum."""

    running: Mapping[str, RunningEnd]
    bases: dict[str, Node] = field(default_factory=dict)
    gaps: dict[str, Node] = field(default_factory=dict)
    scales: dict[tuple[str, DType], Node] = field(default_factory=dict)

    def own_version(self, name: str) -> TileVersion:
        """The version of a node's own tiles; a running end refers to its maximum."""
        version = Tiler.own_version(self, name)
        return version._replace(top=self.running[name].top) if name in self.running else version

    def version(self, name: str, reader: TileVersion, source: str) -> TileVersion:
        """The version of a source's tiles; only terms of a running end refer to the maximum."""
        if reader.top and source in self.terms(reader.top):
            node = self.old.nodes[name]
            outer = [d for d in reader.dims if d not in node.vector]
            dims = self.old.universe.sorted((*self.loops(source), *outer))
            return TileVersion(reader.phase, dims, reader.top)
        return Tiler.version(self, name, reader._replace(top=""), source)

    def along(self, top: str) -> list[RunningEnd]:
        """The ends that run along with a maximum."""
        return [r for r in self.running.values() if r.top == top]

    def terms(self, top: str) -> set[str]:
        """The nodes from whose tiles a maximum is subtracted."""
        return {step.node for r in self.along(top) for step in r.steps[:-1]}

    # ------------------------------------------------------------ terms

    def tile(self, at: AxisAt, version: TileVersion) -> Node:
        """The tile of a node; a step with a deferred factor is the tile of its terms."""
        for running in self.along(version.top):
            for step in (f.step for f in running.factors if f.step.node == at.node):
                edge = self.old.nodes[at.node].inputs[step.slot]
                source = self.flows.source(at, edge, self.flows.places(at)[step.slot])
                assert source is not None
                return self.tile(source, self.version(at.node, version, source.node))
        return Tiler.tile(self, at, version)

    def inputs(self, at: AxisAt, version: TileVersion) -> list[Edge]:
        """The operands of a node; the maximum so far takes the place of the maximum."""
        for running in self.along(version.top):
            if running.steps[0].node == at.node:
                terms, _ = zip(self.old.nodes[at.node].inputs, self.flows.places(at), strict=True)
                base = self.base(running.top)
                moved = self.moved(running, read_of(base), base.domain)
                return [self.read(at, version, *terms), moved]
        return Tiler.inputs(self, at, version)

    def base(self, top: str) -> Node:
        """The maximum so far, made finite, which is subtracted from the terms of a tile."""
        if top not in self.bases:
            node = self.old.nodes[top]
            self.reduce(node)
            now = self.nodes[self.sums[top]]
            least = Literal(value=lowest(now.types[0].dtype), dtype=now.types[0].dtype)
            none = self.put(node, "least", least, (), Domain(()))
            both = read_of(now), read_of(none)
            maximum = binary.Maximum(skips_nan=True)
            self.bases[top] = self.put(node, "base", maximum, both, now.domain)
        return self.bases[top]

    # ------------------------------------------------------------ sums

    def reduce(self, node: Node) -> None:
        """Build a reduction, unless its running terms have built the maximum already."""
        if node.name not in self.sums:
            Tiler.reduce(self, node)

    def scale(self, node: Node, dtype: DType) -> Edge | None:
        """The factor that converts the previous sum to the maximum with this tile."""
        if node.name not in self.running:
            return None
        running = self.running[node.name]
        base = self.base(running.top)
        top, now = self.old.nodes[running.top], self.nodes[self.sums[running.top]]
        past = self.nodes[now.inputs[0].source]
        wide = base.types[0].dtype.wide
        key = running.top, wide
        if key not in self.scales:
            ends = [self.cast(top, read_of(n), wide, base.domain) for n in (past, base)]
            less = self.put(top, "less", binary.Subtract(), ends, base.domain)
            self.scales[key] = self.put(top, "scale", unary.Exp(), (read_of(less),), base.domain)
        edge = self.moved(running, read_of(self.scales[key]), base.domain)
        edge = self.placed(node, edge, running.axes, base.domain)
        return self.cast(node, edge, dtype, base.domain)

    def finish(self, node: Node, total: Edge) -> Edge:
        """The sum with its deferred factors; NaN where the terms are NaN."""
        if node.name not in self.running:
            return total
        running, domain = self.running[node.name], node.domain
        top = self.old.nodes[running.top]
        dtype = self.type_of(total).dtype
        gap = self.gap(top)
        edge = self.moved(running, read_of(gap), top.domain)
        edge = self.placed(node, edge, running.axes, domain)
        edge = self.cast(node, edge, dtype, domain)
        total = read_of(self.put(node, "sum", binary.Add(), (total, edge), domain))
        for factor in running.factors:
            total = self.applied(node, factor, total, dtype)
        return total

    def gap(self, top: Node) -> Node:
        """``max - max``: 0, or NaN where the maximum is infinite or NaN."""
        if top.name not in self.gaps:
            both = read_of(top), read_of(top)
            self.gaps[top.name] = self.put(top, "gap", binary.Subtract(), both, top.domain)
        return self.gaps[top.name]

    def applied(self, node: Node, factor: Factor, total: Edge, dtype: DType) -> Edge:
        """A sum multiplied by a factor of its terms, or divided by it."""
        step = self.old.nodes[factor.step.node]
        edge = self.placed(node, step.inputs[factor.slot], factor.axes, node.domain)
        edge = self.cast(node, edge, dtype, node.domain)
        both = (edge, total) if factor.slot == 0 else (total, edge)
        return read_of(self.put(node, "times", step.op, both, node.domain))

    # ------------------------------------------------------------ axes

    def moved(self, running: RunningEnd, edge: Edge, domain: Domain) -> Edge:
        """A value with the axes of a maximum, reshaped like the operand of the subtraction."""
        for name in running.moves:
            key = ("moved", edge, name)
            if key not in self.memo:
                node = self.old.nodes[name]
                self.memo[key] = self.put(node, "moved", node.op, (edge,), domain).name
            edge = read_of(self.nodes[self.memo[key]])
        return edge

    def placed(self, node: Node, edge: Edge, axes: Axes, domain: Domain) -> Edge:
        """An operand with ``axes`` of the result, reshaped so that it broadcasts to the result."""
        rank = len(node.types[0].shape)
        if all(p in (None, k) for k, p in enumerate(axes, rank - len(axes))) and len(axes) <= rank:
            return edge
        squeezed = tuple(k for k, place in enumerate(axes) if place is None)
        places = [place for place in axes if place is not None]
        if squeezed:
            edge = self.changed(node, Squeeze(axes=squeezed), edge, domain)
        if places != sorted(places):
            order = tuple(sorted(range(len(places)), key=places.__getitem__))
            edge = self.changed(node, Transpose(axes=order), edge, domain)
        for place in range(min(places, default=rank), rank):
            if place not in places:
                axis = place - min(places)
                edge = self.changed(node, ExpandDims(axis=axis), edge, domain)
        return edge

    def changed(self, node: Node, op: Op, edge: Edge, domain: Domain) -> Edge:
        """An operand with other axes."""
        return read_of(self.put(node, "placed", op, (edge,), domain))

    def cast(self, node: Node, edge: Edge, dtype: DType, domain: Domain) -> Edge:
        """An operand with another dtype."""
        if self.type_of(edge).dtype is dtype:
            return edge
        return read_of(self.put(node, "wide", unary.Cast(dtype=dtype), (edge,), domain))
