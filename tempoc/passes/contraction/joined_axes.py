"""Axes that a concatenation makes, followed to where they are reduced or taken apart again.

A *carrier* is a node that can be computed of each joined part alone: the concatenation, and what
computes elementwise on it, or multiplies it, or moves its other axes. What else such a node reads
along the axis, as a bias of scores, is cut. The axis ends at reductions, whose results on the parts
can be combined, and at slices that are exactly one of the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tempoc.base.graphs import reachable
from tempoc.ops.definition.axis_links import Link
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.joining import Concat
from tempoc.passes.tiling.partial_results import combination
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, operand_type, operand_types, topological, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols

Extents = tuple[ix.Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedAxis:
    """An axis of joined parts at a node: its ``link``, and the ``extents`` of the parts there.

    ``picked``: the number of the part that the node takes, if it is a slice of one. A concatenation
    has no operands on the link.
    """

    link: Link
    extents: Extents
    picked: int | None = None

    @property
    def axis(self) -> int | None:
        """The axis in the result; ``None`` where it ends."""
        return None if self.picked is not None else self.link.results[0]


@dataclass(kw_only=True)
class JoinedAxes:
    """The nodes of a graph that can be computed part by part, found by `regions`."""

    graph: Graph
    space: Space
    axes: dict[str, JoinedAxis] = field(default_factory=dict)

    @cached_property
    def uses(self) -> Mapping[str, tuple[OperandUse, ...]]:
        """The consumers of each node."""
        return users(self.graph)

    def regions(self) -> Iterator[Mapping[str, JoinedAxis]]:
        """Nodes that must be computed part by part together, operands first."""
        lazy = enclosing_conds(self.graph)
        order = topological(self.graph)
        for name in order:
            node = self.graph.nodes[name]
            joined = self._joined(node) if is_computed(node) and name not in lazy else None
            if joined is not None:
                self.axes[name] = joined
        while whole := [name for name in self.axes if self._is_needed_whole(name)]:
            for name in whole:
                del self.axes[name]
        seen: set[str] = set()
        for name in order:
            if name in self.axes and name not in seen:
                region = reachable([name], self._neighbours)
                seen.update(region)
                yield {n: self.axes[n] for n in order if n in region}

    def carried(self, node: Node, link: Link) -> tuple[int, ...]:
        """The operands of a node that have the axis."""
        return tuple(slot for slot in range(len(node.inputs)) if link.operands[slot] is not None)

    def _joined(self, node: Node) -> JoinedAxis | None:
        """The joined axis at a node, given those of its operands."""
        if len(node.types) != 1:
            return None
        args = operand_types(self.graph, node)
        facts = DomainFacts(self.space, node.domain)
        if isinstance(node.op, Concat):
            axis = axis_of(node.op.axis, node.types[0].ndim)
            own = Link((None,) * len(args), (axis,))
            return JoinedAxis(link=own, extents=tuple(a.shape[axis] for a in args))
        places = {k: p for k, e in enumerate(node.inputs) if (p := self._place(e)) is not None}
        if not places:
            return None
        if isinstance(node.op, SpatialIndex):
            return self._picked(node, places, facts)
        for link in node.op.links(args, node.types, facts.equal):
            slots = self.carried(node, link)
            if any(link.operands[k] == p for k, p in places.items()):
                extents = [self._extents(node.inputs[k]) for k in slots if k in places]
                same = all(places.get(k, link.operands[k]) == link.operands[k] for k in slots)
                same = same and all(_agree(e, extents[0], facts) for e in extents)
                ends = link.is_reduced
                combines = not ends or combination(node.op, args, node.types[0].dtype) is not None
                if same and combines:  # else another axis may, as that of keys beside rotated ones
                    return JoinedAxis(link=link, extents=extents[0])
        return None

    def _place(self, edge: Edge) -> int | None:
        """The joined axis of an operand."""
        joined = self.axes.get(edge.source)
        if joined is None or joined.axis is None:
            return None
        slices = [e for e in edge.entries if isinstance(e, ix.Slice)]
        dims = self.graph.nodes[edge.source].domain.dims
        sliced = {d for d, e in zip(dims, edge.entries, strict=True) if isinstance(e, ix.Slice)}
        if any(sliced & {*symbols(e)} for e in joined.extents):
            return None
        return joined.axis + len(slices)

    def _extents(self, edge: Edge) -> Extents:
        """The extents of the parts of an operand, at the point of its reader."""
        dims = self.graph.nodes[edge.source].domain.dims
        pairs = zip(dims, edge.entries, strict=True)
        at = {d: e for d, e in pairs if not isinstance(e, ix.Slice)}
        return tuple(substitute(e, at) for e in self.axes[edge.source].extents)

    def _picked(
        self, node: Node, places: Mapping[int, int], facts: DomainFacts
    ) -> JoinedAxis | None:
        """A slice that is one of the parts, or that takes all of them and cuts other axes."""
        assert isinstance(node.op, SpatialIndex)
        if node.op.gathers or 0 not in places or len(node.op.entries) <= places[0]:
            return None
        rank = operand_type(self.graph, node.inputs[0]).ndim
        if len(node.op.entries) != rank:
            return None
        entry, extents = node.op.entries[places[0]], self._extents(node.inputs[0])
        if not isinstance(entry, tuple) or entry[2] != 1:
            return None
        axis = sum(isinstance(e, tuple) for e in node.op.entries[: places[0]])
        link = Link((places[0],), (axis,))
        for k, extent in enumerate(extents):
            start = ix.add(ix.ZERO, *extents[:k])
            if facts.equal(entry[1], extent) and facts.equal(entry[0], start):
                return JoinedAxis(link=link, extents=extents, picked=k)
        return None

    def _is_needed_whole(self, name: str) -> bool:
        """Whether a node cannot be computed part by part after all."""
        joined, node = self.axes[name], self.graph.nodes[name]
        if not isinstance(node.op, Concat) and not any(True for _ in self._joined_slots(name)):
            return True
        if joined.axis is None:
            return False
        if any(output.source == name for output in self.graph.outputs):
            return True
        return not all(self._reads_parts(use) for use in self.uses[name])

    def _joined_slots(self, name: str) -> Iterator[int]:
        """The operands of a node that are computed part by part; of others, parts are cut."""
        node, joined = self.graph.nodes[name], self.axes[name]
        for slot in self.carried(node, joined.link):
            if self._place(node.inputs[slot]) == joined.link.operands[slot]:
                yield slot

    def _reads_parts(self, use: OperandUse) -> bool:
        """Whether an operand is read part by part."""
        reader = self.axes.get(use.reader)
        return reader is not None and use.slot in self._joined_slots(use.reader)

    def _neighbours(self, name: str) -> list[str]:
        """The nodes that are computed part by part together with a node."""
        node, joined = self.graph.nodes[name], self.axes[name]
        sources = [node.inputs[slot].source for slot in self._joined_slots(name)]
        ends = joined.axis is None
        return sources + ([] if ends else [use.reader for use in self.uses[name]])


def _agree(a: Extents, b: Extents, facts: DomainFacts) -> bool:
    """Whether the parts of two operands are as long as each other."""
    return len(a) == len(b) and all(facts.equal(x, y) for x, y in zip(a, b, strict=True))
