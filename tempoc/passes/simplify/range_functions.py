"""Functions of the points of ranges, computed once for each point.

    %keys  = matmul %x[0:t+1], %k             : [t] f32[t+1, 8]
    %parts = reshape{shape=(t+1, 2, 4)} %keys : [t] f32[t+1, 2, 4]
    ->
    %keys.each  = matmul %x, %k                    : [t] f32[8]
    %parts.each = reshape{shape=(2, 4)} %keys.each : [t] f32[2, 4]
    %parts      = copy %parts.each[0:t+1]          : [t] f32[t+1, 2, 4]

Keys and values of attention are often written as functions of all words so far. A word is a part of
the ranges of many points, and at each of them its key would be computed again: ``T * T`` products
in place of ``T``. Where ranges overlap, and a function treats their points one by one, alike at all
points that read them, its values are a recurrent tensor, of which ranges are read.

This runs before differentiation as well, so that derivatives are those of each point too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.axis_links import AxisPart, Link
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.shapes import without
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.movement import ExpandDims, Squeeze, Transpose
from tempoc.ops.tensor.source import Arange, IndexValue
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.simplify.copy_propagation import forward_copies
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.active import independent_nodes
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import expressions, operand_types, topological
from tempoc.sdg.graph.rewrite import drop_dead, edge_at, replace_nodes
from tempoc.sdg.graph.stencils import reads_moving_ranges
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, substitute_entry
from tempoc.symbolic.walk import substitute, symbols

POINT = "@point"
"""Ends what stands for the point of a range, where its dimension is that of the reader's point."""


class RangeFunctions(GraphPass):
    """Computes functions of the points of ranges once for each point."""

    __slots__ = ()
    name: ClassVar[str] = "ranges"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph in which ranges are read of what functions of their points give."""
        changed = with_point_functions(graph, context)
        return graph if changed is graph else drop_dead(forward_copies(changed))


def with_point_functions(graph: Graph, context: PassContext) -> Graph:
    """The graph in which ranges are read of what functions of their points give.

    It may have gradients; the same graph if there are no such functions.
    """
    if graph.universe.lengths or not any(map(reads_moving_ranges, graph.nodes.values())):
        return graph
    search = _RangeSearch(graph=graph, space=context.space.symbolic)
    names = search.run()
    for name in names:
        message = f"the points of `{name}` are in ranges that overlap: each is computed once"
        context.remarks.add(RangeFunctions.name, message, graph.nodes[name].span)
    return drop_dead(search.graph) if names else graph


@dataclass(frozen=True, slots=True, kw_only=True)
class _RangeOfPoints:
    """An axis of an operand that is a range of points: entry ``slot`` of a read.

    The operand is what ``read`` gives, with the axis of that entry at ``axis``. ``works``: points
    are computed, and not only moved.
    """

    read: Edge
    slot: int
    axis: int
    works: bool = False

    @property
    def slice(self) -> ix.Slice:
        """The range."""
        entry = self.read.entries[self.slot]
        assert isinstance(entry, ix.Slice)
        return entry

    def at(self, point: ix.Expr) -> Edge:
        """The read of one point."""
        entries = self.read.entries
        return replace(self.read, entries=(*entries[: self.slot], point, *entries[self.slot + 1 :]))


class _PlaceInRange(NamedTuple):
    """A number that counts the points of a range, as positions do."""

    value: ix.Expr
    dtype: DType


@dataclass(slots=True, kw_only=True)
class _RangeSearch:
    """Rewrites nodes in topological order; ``known`` has the ranges that are results of nodes."""

    graph: Graph
    space: Space
    known: dict[str, _RangeOfPoints] = field(default_factory=dict)

    def run(self) -> list[str]:
        """Rewrite the graph; the nodes of which ranges are now read."""
        lazy = enclosing_conds(self.graph)
        independent = independent_nodes(self.graph)
        done: list[str] = []
        for name in topological(self.graph):
            node = self.graph.nodes[name]
            of = None if name in lazy or not _is_function(node) else self._function(node)
            if of is None:
                continue
            if name not in independent:
                self.known[name] = of
            if of.works:
                done.append(name)
        return done

    def _function(self, node: Node) -> _RangeOfPoints | None:
        """An axis of a node's result that is a range of points, which the graph then computes."""
        options = [self._of_operand(edge) for edge in node.inputs]
        if not any(options):
            return None
        args = operand_types(self.graph, node)
        facts = DomainFacts(self.space, node.domain)
        for link in node.op.links(args, node.types, facts.equal):
            axes = zip(link.operands, options, strict=True)
            ranges = [next((r for r in of if r.axis == a), None) for a, of in axes]
            first = next((r for r in ranges if r is not None), None)
            if first is None or link.results[0] is None:
                continue
            nodes, of = _PointFunction(
                graph=self.graph, space=self.space, node=node, link=link, ranges=ranges, first=first
            ).made() or ((), None)
            if of is not None:
                own = _reading(node, of) if of.works else node
                self.graph = replace_nodes(self.graph, {node.name: (*nodes, own)})
                return of
        return None

    def _of_operand(self, edge: Edge) -> list[_RangeOfPoints]:
        """The axes of an operand that are ranges of points."""
        if edge.guard != ix.TRUE:
            return []
        if edge.source in self.known and is_identity(edge, self.graph):
            return [self.known[edge.source]]
        slots = [k for k, e in enumerate(edge.entries) if isinstance(e, ix.Slice)]
        return [_RangeOfPoints(read=edge, slot=slot, axis=axis) for axis, slot in enumerate(slots)]


def _is_function(node: Node) -> bool:
    """Whether a node may be computed at other points, more or less often."""
    op = node.op
    return is_computed(node) and op.pure and not op.checks and len(node.types) == 1


def _reading(node: Node, of: _RangeOfPoints) -> Node:
    """A node that reads the range of points in place of computing it."""
    axes = tuple(0 if k == of.axis else k + (k < of.axis) for k in range(node.types[0].ndim))
    return replace(node, op=Transpose(axes=axes) if of.axis else Copy(), inputs=(of.read,))


@dataclass(frozen=True, slots=True, kw_only=True)
class _PointFunction:
    """Makes the nodes that compute a function of one point of ranges.

    ``ranges``: for each operand with the axis ``link`` the range that it is, if it is one.
    ``first``: the one whose points are counted.
    """

    graph: Graph
    space: Space
    node: Node
    link: Link
    ranges: Sequence[_RangeOfPoints | None]
    first: _RangeOfPoints

    @property
    def dim(self) -> str:
        """The dimension of the points."""
        return self.graph.nodes[self.first.read.source].domain.dims[self.first.slot]

    @property
    def axis(self) -> int:
        """The axis of the result that is a range."""
        (axis,) = self.link.results
        assert axis is not None
        return axis

    def made(self) -> tuple[tuple[Node, ...], _RangeOfPoints] | None:
        """The nodes, and the result as a range of the last one; ``None`` where it is no function
        of points, or where computing it for each range costs no more."""
        operands = [self._operand(slot) for slot in range(len(self.node.inputs))]
        taken = [x for x in operands if x is not None]
        domain = self._domain(taken) if len(taken) == len(operands) else None
        if domain is None:
            return None
        builder = NodeBuilder(graph=self.graph, space=self.space, node=self.node)
        try:
            value = self._value(builder, taken, domain)
        except OperandError:
            return None
        (type_,) = self.node.types
        expected = replace(type_, shape=without(type_.shape, (self.axis,)))
        entries = tuple(self.first.slice if d == self.dim else ix.Sym(d) for d in domain.dims)
        read = Edge(source=value.name, entries=entries, span=self.node.span)
        if value.types != (expected,) or not self._is_inside(builder, domain, read):
            return None
        op, slot = self.node.op, domain.dims.index(self.dim)
        works = not (op.moves or op.cheap or op.light) or any(r and r.works for r in self.ranges)
        of = _RangeOfPoints(read=read, slot=slot, axis=self.axis, works=works)
        return tuple(builder.nodes.values()), of

    # ------------------------------------------------------------ operands

    def _operand(self, slot: int) -> Edge | _PlaceInRange | None:
        """An operand at one point, ``dim`` with the ending ``POINT``; ``None`` if it has none."""
        edge, of, first = self.node.inputs[slot], self.ranges[slot], self.first.slice
        if self.link.operands[slot] is None:
            return edge
        point = ix.Sym(self.dim + POINT)
        if of is not None:
            same = of.slice.step == first.step
            return of.at(ix.add(point, ix.sub(of.slice.lo, first.lo))) if same else None
        op = self.graph.nodes[edge.source].op
        if not isinstance(op, Arange) or not is_identity(edge, self.graph) or first.step != 1:
            return None
        nth = ix.sub(point, first.lo)
        return _PlaceInRange(ix.add(op.start, ix.mul(ix.Const(op.step), nth)), op.dtype)

    def _domain(self, operands: Sequence[Edge | _PlaceInRange]) -> Domain | None:
        """The points at which the function is computed; ``None`` if that does not save any.

        It varies with the dimension of the points, and with what else the operands name. Ranges of
        neighbours along some other dimension have to overlap.
        """
        universe, own = self.graph.universe, self.node.domain
        named: set[str] = {s for e in self._other_extents() for s in symbols(e)}
        for operand in operands:
            entries = operand.entries if isinstance(operand, Edge) else (operand.value,)
            named |= {s for e in entries for s in symbols(e)}
        repeated = [d for d in own.dims if d not in named]
        if self.dim in named or not any(self._overlaps(d) for d in repeated):
            return None
        others = tuple(d for d in own.dims if d in named)
        dims = universe.sorted((*others, self.dim))
        return Domain(dims, self.space.project(own, others).where)

    def _other_extents(self) -> tuple[ix.Expr, ...]:
        return without(self.node.types[0].shape, (self.axis,))

    def _overlaps(self, dim: str) -> bool:
        """Whether ranges of neighbours along a dimension may have points in common."""
        entry, own = self.first.slice, self.node.domain
        if dim not in symbols(entry):
            return False
        later = substitute_entry(entry, {dim: ix.add(ix.Sym(dim), ix.ONE)})
        assert isinstance(later, ix.Slice)
        apart = (ix.compare(">=", later.lo, entry.hi), ix.compare("<=", later.hi, entry.lo))
        return not any(self.space.implies(own, condition) for condition in apart)

    def _is_inside(self, builder: NodeBuilder, domain: Domain, read: Edge) -> bool:
        """Whether all that is read is there."""
        edges = [(n.domain, e) for n in builder.nodes.values() for e in n.inputs]
        for reader, edge in (*edges, (self.node.domain, read)):
            source = builder.nodes.get(edge.source) or self.graph.nodes[edge.source]
            if self.space.outside(reader, edge.entries, source.domain) is not None:
                return False
        return True

    # ------------------------------------------------------------ nodes

    def _value(
        self, builder: NodeBuilder, operands: Sequence[Edge | _PlaceInRange], domain: Domain
    ) -> Node:
        """The node that computes the function at a point. Raises ``OperandError``."""
        own = {self.dim + POINT: ix.Sym(self.dim)}
        reads: list[Edge | Node] = []
        for operand in operands:
            if isinstance(operand, Edge):
                reads.append(edge_at(operand, own))
                continue
            index = IndexValue(expr=substitute(operand.value, own))
            number = builder.put("place", index, (), domain)
            if operand.dtype is not index.dtype:
                number = builder.put("number", Cast(dtype=operand.dtype), (number,), domain)
            reads.append(number)
        args = operand_types(self.graph, self.node)
        op = self.node.op.at_position(self.link, args)
        if op is not None:
            return builder.put("each", self._invariant(op, domain), reads, domain)
        for slot, axis in enumerate(self.link.operands):
            if axis is not None:
                reads[slot] = builder.put("row", ExpandDims(axis=axis), (reads[slot],), domain)
        op = self._invariant(self.node.op.narrowed(self.link, AxisPart(ix.ZERO, ix.ONE)), domain)
        row = builder.put("rows", op, reads, domain)
        return builder.put("each", Squeeze(axes=(self.axis,)), (row,), domain)

    def _invariant(self, op: Op, domain: Domain) -> Op:
        """The operator; ``OperandError`` if an attribute of it names the point of a reader."""
        own = [d for d in domain.dims if d != self.dim]
        named = {s for e in expressions(op) for s in symbols(e)}
        if all(d in own for d in named if self.graph.universe.is_dim(d)):
            return op
        raise OperandError("it differs from point to point")
