"""Axis flow: follows the axis of a tensor, or a vectorized dimension, from node to node.

Where an operand is a slice of all points of a vectorized dimension, the slice's axis in the
consumer is that dimension in the source, and vice versa.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tempoc.ops.definition.axis_links import Link
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.movement import Pad
from tempoc.passes.analysis.dependence import Dependence, dependences
from tempoc.passes.tiling.neighbours import NeighbourNode
from tempoc.passes.tiling.partial_results import combination
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, operand_type, operand_types, topological, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import slice_count
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True)
class VectorDim:
    """A dimension that a node computes at all points at once."""

    dim: str

    @property
    def is_reduced(self) -> bool:
        """Always false: no node reduces a dimension."""
        return False


AxisFlow = Link | VectorDim


class Column(NamedTuple):
    """A read of column ``dim`` of an axis of an operand, like ``x[t:T][:, t]``."""

    dim: str
    axis: int


class AxisToDim(NamedTuple):
    """An axis that becomes a dimension in the consumers, each point of which reads a column."""

    link: Link
    dim: str


def column(node: Node) -> Column | None:
    """The column that each point of a node reads of its operand, if that is all it does."""
    if not isinstance(node.op, SpatialIndex) or node.op.gathers:
        return None
    points = [(e, k) for k, e in enumerate(node.op.entries) if not isinstance(e, tuple)]
    ((entry, axis),) = points if len(points) == 1 else ((None, 0),)
    is_own_point = isinstance(entry, ix.Sym) and entry.name in node.vector
    return Column(entry.name, axis) if isinstance(entry, ix.Sym) and is_own_point else None


class AxisAt(NamedTuple):
    """An axis or vectorized dimension at a node."""

    node: str
    flow: AxisFlow


class AxisFlows:
    """The flows of all axes of a graph, computed on demand."""

    def __init__(
        self,
        graph: Graph,
        space: Space,
        neighbours: Mapping[str, NeighbourNode] | None = None,
        stops: Container[str] = (),
    ) -> None:
        """No flow is computed yet. ``neighbours`` count as nodes that read their own points.

        Through ``stops`` nothing flows.
        """
        self.graph = graph
        self.space = space
        self.neighbours = neighbours or {}
        self.stops = stops
        self._flows: dict[str, tuple[AxisFlow, ...]] = {}
        self._axis_to_dims: dict[str, AxisToDim | None] = {}
        self._sources: dict[AxisAt, tuple[AxisAt, ...]] = {}
        self._readers: dict[AxisAt, tuple[AxisAt | None, ...]] = {}

    @cached_property
    def lazy(self) -> Mapping[str, str]:
        """The nodes that only a branch of a `cond` needs."""
        return enclosing_conds(self.graph)

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The position of each node in topological order, operands first."""
        return {name: k for k, name in enumerate(topological(self.graph))}

    @cached_property
    def needs(self) -> tuple[Dependence, ...]:
        """The dependences that may hold at the same point of all loops."""
        return tuple(d for d in dependences(self.graph, self.space) if d.may_stay)

    @cached_property
    def uses(self) -> Mapping[str, tuple[OperandUse, ...]]:
        """The consumers of each node."""
        return users(self.graph)

    @cached_property
    def row_readers(self) -> Mapping[str, tuple[str, ...]]:
        """The nodes that read rows of a scan, for each scan that is computed with tiles."""
        scans = dict.fromkeys(n.rows for n in self.neighbours.values() if n.rows)
        return {s: tuple(k for k, n in self.neighbours.items() if n.rows == s) for s in scans}

    @cached_property
    def summed(self) -> frozenset[str]:
        """The dimensions of which some consumer reduces a slice of all points."""
        dims = []
        for node in self.graph.nodes.values():
            for slot, edge in enumerate(node.inputs):
                for dim in (d for d, e in self.at(edge).items() if isinstance(e, ix.Slice)):
                    place = self.slice_of(edge, dim)
                    axes = (w for w in self.through(node.name) if isinstance(w, Link))
                    if any(w.is_reduced and w.operands[slot] == place for w in axes):
                        dims.append(dim)
        return frozenset(dims)

    def through(self, name: str) -> tuple[AxisFlow, ...]:
        """The axes and dimensions that flow through a node, or that it can reduce in parts."""
        axes = self._flows.get(name)
        if axes is None:
            axes = self._flows[name] = tuple(self._followed(self.graph.nodes[name]))
        return axes

    def _followed(self, node: Node) -> Iterator[AxisFlow]:
        if not is_computed(node) or node.name in self.lazy or node.name in self.stops:
            return
        args = operand_types(self.graph, node)
        facts = DomainFacts(self.space, node.domain)
        for link in node.op.links(args, node.types, facts.equal):
            if not link.is_reduced or combination(node.op, args, node.types[0].dtype):
                yield link
        turn = self.axis_to_dim(node.name)
        if turn is not None:
            yield turn.link
        yield from self._stars(node)

    def _stars(self, node: Node) -> Iterator[VectorDim]:
        for dim in node.vector:
            if dim not in symbols(node.domain.where):
                yield VectorDim(dim)

    def axis_to_dim(self, name: str) -> AxisToDim | None:
        """The padded axis of a node that becomes a dimension in all its consumers, if any."""
        if name not in self._axis_to_dims:
            self._axis_to_dims[name] = self._find_axis_to_dim(self.graph.nodes[name])
        return self._axis_to_dims[name]

    def _find_axis_to_dim(self, node: Node) -> AxisToDim | None:
        if not isinstance(node.op, Pad) or any(o.source == node.name for o in self.graph.outputs):
            return None
        padded = [k for k, widths in enumerate(node.op.widths) if widths != (ix.ZERO, ix.ZERO)]
        readers = [self.graph.nodes[use.reader] for use in self.uses[node.name]]
        columns = {column(reader) for reader in readers}
        if len(padded) != 1 or node.op.widths[padded[0]][0] != ix.ZERO or len(columns) != 1:
            return None
        read = columns.pop()
        if read is None or not any(w == VectorDim(read.dim) for w in self._stars(readers[0])):
            return None
        extent = node.types[0].shape[padded[0]]
        is_full = extent == ix.Sym(self.graph.universe.dim(read.dim).bound)
        same = all(slice_count(r.inputs[0].entries) + padded[0] == read.axis for r in readers)
        link = Link((padded[0],), (padded[0],))
        return AxisToDim(link, read.dim) if is_full and same else None

    def extent(self, at: AxisAt) -> ix.Expr:
        """The extent of an axis in the result of a node."""
        node = self.graph.nodes[at.node]
        if isinstance(at.flow, VectorDim):
            return ix.Sym(self.graph.universe.dim(at.flow.dim).bound)
        out, axis = next((k, a) for k, a in enumerate(at.flow.results) if a is not None)
        return node.types[out].shape[axis]

    def length(self, at: AxisAt) -> ix.Expr:
        """The extent of an axis before the node pads or reduces it."""
        turn = self.axis_to_dim(at.node)
        padded = turn is not None and turn.link == at.flow
        if isinstance(at.flow, VectorDim) or not (at.flow.is_reduced or padded):
            return self.extent(at)
        slot, axis = next((k, a) for k, a in enumerate(at.flow.operands) if a is not None)
        return operand_type(self.graph, self.graph.nodes[at.node].inputs[slot]).shape[axis]

    def places(self, at: AxisAt) -> tuple[int | None, ...]:
        """For each operand the axis that becomes the node's axis."""
        if isinstance(at.flow, VectorDim):
            return (None,) * len(self.graph.nodes[at.node].inputs)
        return at.flow.operands

    def sources(self, at: AxisAt) -> tuple[AxisAt, ...]:
        """The axes of a node's operands that become its axis, as far as they can be followed."""
        if at not in self._sources and self.is_neighbour(at):
            every = (AxisAt(s, at.flow) for s in self.neighbours[at.node].sources)
            self._sources[at] = tuple(m for m in every if m.flow in self.through(m.node))
        if at not in self._sources:
            pairs = zip(self.graph.nodes[at.node].inputs, self.places(at), strict=True)
            origins = (self.source(at, edge, axis) for edge, axis in pairs)
            self._sources[at] = tuple(m for m in origins if m is not None)
        return self._sources[at]

    def source(self, at: AxisAt, edge: Edge, axis: int | None) -> AxisAt | None:
        """The axis of an operand's source from which the axis comes."""
        if self.is_neighbour(at):
            return next((m for m in self.sources(at) if m.node == edge.source), None)
        if isinstance(at.flow, VectorDim):
            turn = self.axis_to_dim(edge.source)
            if turn is not None and turn.dim == at.flow.dim:
                return AxisAt(edge.source, turn.link)
            same = at.flow in self.through(edge.source) and self.is_own(edge, at.flow.dim)
            return AxisAt(edge.source, at.flow) if same else None
        if axis is None:
            return None
        result_axis = axis - slice_count(edge.entries)
        if result_axis >= 0:
            candidates = (k for k in self.through(edge.source) if isinstance(k, Link))
            link = next((k for k in candidates if k.results[edge.out] == result_axis), None)
            return None if link is None else AxisAt(edge.source, link)
        dim = self.sliced(edge, axis)
        vector_dim = VectorDim(dim)
        is_full = self.is_whole(edge, dim) and vector_dim in self.through(edge.source)
        return AxisAt(edge.source, vector_dim) if is_full else None

    def readers(self, at: AxisAt) -> tuple[AxisAt | None, ...]:
        """The axis in each consumer that a node's axis becomes; ``None`` where it ends."""
        if at not in self._readers:
            uses = self.uses[at.node]
            edges = [self.graph.nodes[use.reader].inputs[use.slot] for use in uses]
            continuations = (
                m for e, use in zip(edges, uses, strict=True) for m in self._readers_of(at, e, use)
            )
            self._readers[at] = tuple(continuations)
        return self._readers[at]

    def _readers_of(self, at: AxisAt, edge: Edge, use: OperandUse) -> Iterator[AxisAt | None]:
        """The axis in a consumer, or in those that read rows of it."""
        names = self.row_readers.get(use.reader, (use.reader,))
        own = [m for m in (AxisAt(n, at.flow) for n in names) if at in self.neighbour_sources(m)]
        yield from own
        if len(own) < len(names):
            yield self._onward(at.flow, edge, use)

    def is_neighbour(self, at: AxisAt) -> bool:
        """Whether a node along a dimension needs neighbours of the points at hand."""
        is_one = at.node in self.neighbours and isinstance(at.flow, VectorDim)
        return is_one and at.flow in self.through(at.node)

    def inputs(self, name: str) -> tuple[Edge, ...]:
        """What a node reads, or the scan whose rows it reads."""
        scan = self.neighbours[name].rows if name in self.neighbours else ""
        return self.graph.nodes[scan or name].inputs

    def neighbour_sources(self, at: AxisAt) -> tuple[AxisAt, ...]:
        """The sources of such a node."""
        return self.sources(at) if self.is_neighbour(at) else ()

    def _onward(self, flow: AxisFlow, edge: Edge, use: OperandUse) -> AxisAt | None:
        if isinstance(flow, VectorDim):
            if flow in self.through(use.reader) and self.is_own(edge, flow.dim):
                return AxisAt(use.reader, flow)
            if not self.is_whole(edge, flow.dim):
                return None
            place: int | None = self.slice_of(edge, flow.dim)
        else:
            turn = self.axis_to_dim(edge.source)
            if turn is not None and turn.link == flow:
                return AxisAt(use.reader, VectorDim(turn.dim))
            axis = flow.results[edge.out]
            place = None if axis is None else axis + slice_count(edge.entries)
        candidates = (k for k in self.through(use.reader) if isinstance(k, Link))
        link = next(
            (k for k in candidates if place is not None and k.operands[use.slot] == place), None
        )
        return None if link is None else AxisAt(use.reader, link)

    # ------------------------------------------------------------ accesses

    def at(self, edge: Edge) -> dict[str, ix.Expr | ix.Slice]:
        """The entries of an access by dimension."""
        return self.graph.nodes[edge.source].domain.at(edge.entries)

    def is_own(self, edge: Edge, dim: str) -> bool:
        """Whether a read depends on a dimension by the reader's own point alone."""
        at = self.at(edge)
        others = (e for d, e in at.items() if d != dim)
        return at.get(dim) == ix.Sym(dim) and not any(dim in symbols(e) for e in others)

    def is_whole(self, edge: Edge, dim: str) -> bool:
        """Whether a read takes all points of a dimension."""
        bound = ix.Sym(self.graph.universe.dim(dim).bound)
        return self.at(edge).get(dim) == ix.Slice(ix.ZERO, bound, 1)

    def sliced(self, edge: Edge, axis: int) -> str:
        """The dimension whose slice is an axis of an operand."""
        return [d for d, e in self.at(edge).items() if isinstance(e, ix.Slice)][axis]

    def slice_of(self, edge: Edge, dim: str) -> int:
        """The axis of an operand that is the slice of a dimension."""
        return [d for d, e in self.at(edge).items() if isinstance(e, ix.Slice)].index(dim)
