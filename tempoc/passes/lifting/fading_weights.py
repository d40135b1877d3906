"""Weights of ranges that fade from point to point, so that sums of what they weigh are recurrences.

    power %g, (sub t, arange) : [t] f32[t+1]       powers of a number, or of one for each row
    %w[t, 0:t+1]                                   of %w = prod %g[s+1:t+1] : [t, s | s <= t] f32
    exp (sub %m, %c[0:t+1])   : [t] f32[t+1, 8]    of %m = min{axes=(0,)} %c[0:t+1] : [t] f32[8]

At each point they are those of the point before it, times a ratio: ``%g``, ``%g[t]``, ``exp`` of
``%m - %m[t-1]``. What the weight of the newest element is, weights say, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tempoc.ops.control.control import StopGradient
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor.arithmetic import Subtract
from tempoc.ops.tensor.elementwise import Exp
from tempoc.ops.tensor.movement import ExpandDims, Squeeze, Transpose
from tempoc.ops.tensor.reduction import Max, Min, Prod
from tempoc.passes.lifting.geometric_weights import Powers, row_powers
from tempoc.passes.lifting.moving_range import MovingRange, Prefix
from tempoc.passes.lifting.range_operand import Rebuild, operand_slices
from tempoc.passes.simplify.copy_propagation import read_original
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.graph.rewrite import edge_at
from tempoc.sdg.statements.build import is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, substitute_entry
from tempoc.symbolic.walk import substitute, symbols


class FadingWeights(Protocol):
    """Weights with an axis for the elements of a range; their other axes are those of rows."""

    def fit(self, target: MovingRange, entry: ix.Slice, dim: str) -> bool:
        """Whether they fade along the dimension with which the range ``entry`` moves."""
        ...

    def ratio(self, rebuild: Rebuild, before: ix.Expr) -> Edge:
        """By what those of the point ``before`` are multiplied, without the axis of the range.

        Raises ``OperandError`` where that cannot be computed.
        """
        ...

    def newest(self, rebuild: Rebuild) -> Edge | None:
        """The weight of the newest element, without the axis of the range; ``None`` if it is 1.

        Raises ``OperandError`` where that cannot be computed.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _PowerWeights:
    """Powers of a base, or of one for each row, along the axis ``place`` from the last one."""

    graph: Graph
    powers: Powers
    place: int

    def fit(self, target: MovingRange, entry: ix.Slice, dim: str) -> bool:
        """Whether the newest element has the exponent 0, and the base is that of all points."""
        base = self.powers.base
        moving = (*base.entries, *operand_type(self.graph, base).shape)
        nearest = self.powers.nearest_to(target, entry)
        return nearest == ix.ZERO and not any(dim in symbols(e) for e in moving)

    def ratio(self, rebuild: Rebuild, before: ix.Expr) -> Edge:
        """The base."""
        base = self.powers.base
        axis = operand_type(self.graph, base).ndim - self.place
        if axis < 0:
            return base
        domain = named_part(rebuild.builder, (base,), rebuild.builder.node.domain)
        rows = rebuild.builder.put("rows", Squeeze(axes=(axis,)), (base,), domain)
        return read_of(rows)

    def newest(self, rebuild: Rebuild) -> Edge | None:
        """One."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _GateProducts:
    """The product of ``gates`` at all steps in ``between``, from the element ``step`` on.

    ``at`` are the other entries of the read, ``entry`` is that of the elements.
    """

    gates: Edge
    place: int
    between: ix.Slice
    step: str
    entry: ix.Slice

    def _own(self, target: MovingRange, dim: str) -> tuple[ix.Expr, ix.Expr]:
        """The end of ``between`` that moves with the point, and the other one."""
        ends = self.between.lo, self.between.hi
        return ends[::-1] if isinstance(target, Prefix) else ends

    def fit(self, target: MovingRange, entry: ix.Slice, dim: str) -> bool:
        """Whether each point has one more gate, and the newest element has at most one."""
        if entry != self.entry or dim == self.step:
            return False
        moving, fixed = self._own(target, dim)
        newest = ix.sub(entry.hi, ix.ONE) if isinstance(target, Prefix) else entry.lo
        gap = ix.sub(moving, substitute(fixed, {self.step: newest}))
        gap = gap if isinstance(target, Prefix) else ix.sub(ix.ZERO, gap)
        names = {*symbols(ix.sub(moving, ix.Sym(dim))), *symbols(ix.sub(fixed, ix.Sym(self.step)))}
        return names.isdisjoint((dim, self.step)) and gap in (ix.ZERO, ix.ONE)

    def ratio(self, rebuild: Rebuild, before: ix.Expr) -> Edge:
        """The gate that the point has and the one before it lacks."""
        low, high = self.between.lo, ix.sub(self.between.hi, ix.ONE)
        own = low if self.step in symbols(high) else high
        entries = [e if e is not self.between else own for e in self.gates.entries]
        moved = (substitute_entry(e, rebuild.at) for e in entries)
        return replace(self.gates, entries=tuple(moved))

    def newest(self, rebuild: Rebuild) -> Edge | None:
        """The gate of the point, or one where there are none between the element and the point."""
        low, high = self.between.lo, self.between.hi
        newest = ix.sub(self.entry.hi, ix.ONE) if self.step in symbols(low) else self.entry.lo
        gap = substitute(ix.sub(high, low), {self.step: newest})
        return None if gap == ix.ZERO else self.ratio(rebuild, ix.ZERO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances:
    """``exp`` of what ``values`` of a range lie below ``level``, or above it if they are ``above``.

    The range is the first axis of ``values``, which ``level`` lacks. ``nodes`` compute them of
    both.
    """

    graph: Graph
    nodes: tuple[str, ...]
    level: Edge
    values: Edge
    above: bool

    @property
    def place(self) -> int:
        """The axis of the range, counted from the last one."""
        return operand_type(self.graph, self.values).ndim

    def exponents(self, builder: NodeBuilder, level: Edge, values: Edge, domain: Domain) -> Edge:
        """``exp`` of the distances of other values; raises ``OperandError``."""
        both = (values, level) if self.above else (level, values)
        distance = builder.put("distance", Subtract(), both, domain)
        return read_of(builder.put("weight", Exp(), (distance,), domain))

    @property
    def is_extreme(self) -> bool:
        """Whether ``level`` is the least of the values, or the greatest if they are ``above``.

        Then no weight exceeds 1, so that none is lost that becomes one again.
        """
        levels = [self.level, read_original(self.graph, self.level)]
        node = self.graph.nodes[levels[-1].source]
        if isinstance(node.op, StopGradient):
            levels += node.inputs
            node = self.graph.nodes[levels[-1].source]
        if type(node.op) is not (Max if self.above else Min) or node.op.keepdims:
            return False
        ndim = operand_type(self.graph, node.inputs[0]).ndim
        along = axes_of(node.op.axes, ndim) == (0,) and node.inputs == (self.values,)
        return along and all(is_identity(e, self.graph) for e in levels)

    def fit(self, target: MovingRange, entry: ix.Slice, dim: str) -> bool:
        """Whether the level is an extreme, and the elements are those of the range."""
        slices = operand_slices(self.graph, self.values, self.place)
        return self.is_extreme and all(e == entry for e in slices)

    def ratio(self, rebuild: Rebuild, before: ix.Expr) -> Edge:
        """``exp`` of how far the level has moved."""
        source = self.graph.nodes[self.level.source]
        last = edge_at(self.level, {rebuild.dim: before})
        domain = rebuild.domain_of(source.domain.dims)
        return self.exponents(rebuild.builder, self.level, last, domain)

    def newest(self, rebuild: Rebuild) -> Edge | None:
        """``exp`` of how far the newest value lies from the level."""
        values = replace(rebuild, place=self.place, memo={}).edge(self.values)
        if values is None:
            raise OperandError("its values are not those of the points of a range")
        level = edge_at(self.level, rebuild.at)
        domain = rebuild.domain_of(self.graph.nodes[self.level.source].domain.dims)
        return self.exponents(rebuild.builder, level, values, domain)


def fading_weights(graph: Graph, edge: Edge, place: int) -> FadingWeights | None:
    """The weights along an axis of an operand, counted from its last axis; ``None`` for others."""
    powers = row_powers(graph, edge, place)
    if powers is not None:
        return _PowerWeights(graph=graph, powers=powers, place=place)
    gates = _gates(graph, edge, place)
    if gates is not None:
        return gates
    distances = distances_of(graph, edge, place)
    return distances if distances is not None and distances.is_extreme else None


def _gates(graph: Graph, edge: Edge, place: int) -> _GateProducts | None:
    """Weights that are read in a slice of points, each of which has a product of a range."""
    node = graph.nodes[edge.source]
    axis = operand_type(graph, edge).ndim - place
    pairs = list(zip(node.domain.dims, edge.entries, strict=True))
    sliced = [(d, e) for d, e in pairs if isinstance(e, ix.Slice)]
    if type(node.op) is not Prod or axis != 0 or len(sliced) != 1 or node.op.keepdims:
        return None
    gates = read_original(graph, node.inputs[0])
    ((step, entry),) = sliced
    ranges = [e for e in gates.entries if isinstance(e, ix.Slice)]
    others = [e for e in gates.entries if not isinstance(e, ix.Slice)]
    operand = operand_type(graph, gates)
    if (
        len(ranges) != 1
        or axes_of(node.op.axes, operand.ndim) != (0,)
        or (entry.step, ranges[0].step) != (1, 1)
        or any(e != ix.Sym(d) for d, e in pairs if d != step)
        or any(step in symbols(e) for e in (*others, *operand.shape[1:]))
    ):
        return None
    return _GateProducts(gates=gates, place=place, between=ranges[0], step=step, entry=entry)


def distances_of(graph: Graph, edge: Edge, place: int) -> Distances | None:
    """Exponentials of distances along the first axis of an operand; ``None`` for others.

    ``place`` is that axis, counted from the last one.
    """
    power = graph.nodes[edge.source]
    if not isinstance(power.op, Exp) or not is_identity(edge, graph):
        return None
    difference = graph.nodes[power.inputs[0].source]
    if not isinstance(difference.op, Subtract) or not is_identity(power.inputs[0], graph):
        return None
    shape = power.types[0].shape
    for k, (values, level) in enumerate((difference.inputs, difference.inputs[::-1])):
        of, single = operand_type(graph, values), operand_type(graph, level)
        is_ranged = next(operand_slices(graph, values, place), None) is not None
        has_rows = of.ndim == place and of.shape[1:] == shape[1:]
        if is_ranged and has_rows and single.ndim < len(shape) == place:
            nodes = power.name, difference.name
            return Distances(graph=graph, nodes=nodes, level=level, values=values, above=k == 0)
    return None


def spread(builder: NodeBuilder, rows: Edge, own: str, letters: str, domain: Domain) -> Edge:
    """A number for each row, with axes of one element where it lacks some of ``letters``.

    ``own`` are the letters of its axes, of which leading ones may be missing. Raises
    ``OperandError``.
    """
    own = own[len(own) - builder.type_of(rows).ndim :]
    order = tuple(sorted(range(len(own)), key=lambda k: letters.index(own[k])))
    if order != tuple(range(len(own))):
        rows = read_of(builder.put("rows", Transpose(axes=order), (rows,), domain))
    first = min((letters.index(c) for c in own), default=len(letters))
    for k, c in enumerate(letters[first:]):
        if c not in own:
            rows = read_of(builder.put("rows", ExpandDims(axis=k), (rows,), domain))
    return rows


def named_part(builder: NodeBuilder, edges: Sequence[Edge], domain: Domain) -> Domain:
    """The part of a domain that operands name: that of what is computed of them alone."""
    named = {n for e in edges for entry in e.entries for n in symbols(entry)}
    named |= {n for e in edges for x in builder.type_of(e).shape for n in symbols(x)}
    return builder.space.project(domain, tuple(d for d in domain.dims if d in named))
