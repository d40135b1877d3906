"""Reductions over prefixes and suffixes as running values: one step for each point.

    %y = sum %x[0:t+1] : [t] f32    ->    %y.first = copy %x[0]               : []           f32
                                          %y.next  = add %y.run[t-1], %x      : [t | t >= 1] f32
                                          %y.run   = merge %y.first when t == 0,
                                                           %y.next when t >= 1 : [t]         f32

A sum whose weights are powers of one number (the nearest element has weight 1) is computed
likewise: it is the nearest element plus the neighbour's sum times that number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.operator import Monoid, OperandError
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.reduction import Reduction
from tempoc.ops.tensor.source import Full
from tempoc.passes.lifting.moving_range import MovingRange, Prefix, classify_range
from tempoc.passes.lifting.range_operand import Rebuild, operand_slices
from tempoc.passes.lifting.range_reduction import RangeReduction
from tempoc.passes.lifting.scan_form import finish_reduction
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.statements.build import identity
from tempoc.sdg.statements.vectorized import vector_ranges as spans
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeGrowth:
    """How a range grows by one element from point to point.

    Points run from ``first`` on; there the range is ``single`` (one element) or empty. ``later``
    are the points whose neighbour ``before`` them has the same range without the newest element;
    ``early`` are all others.
    """

    dim: str
    first: ix.Expr
    before: ix.Expr
    early: ix.Expr
    later: ix.Expr
    single: bool


def range_growth(
    target: MovingRange, entry: ix.Slice, dim: str, domain: Domain, space: Space
) -> RangeGrowth | None:
    """How a range grows; ``None`` unless it grows by exactly one element."""
    span = spans(domain, (dim,), space)
    end, fixed = (entry.hi, entry.lo) if isinstance(target, Prefix) else (entry.lo, entry.hi)
    shift = ix.sub(end, ix.Sym(dim))
    names = (*symbols(shift), *symbols(fixed))
    if span is None or entry.step != 1 or any(space.universe.is_dim(n) for n in names):
        return None
    point, low, high = ix.Sym(dim), span[dim].lower, ix.sub(span[dim].upper, ix.ONE)
    forward = isinstance(target, Prefix)
    first, before = (low, ix.sub(point, ix.ONE)) if forward else (high, ix.add(point, ix.ONE))
    count = ix.sub(ix.add(first, shift), fixed) if forward else ix.sub(fixed, ix.add(first, shift))
    if space.implies(Domain(()), ix.compare("==", count, ix.ONE)):
        later = (
            ix.compare(">=", point, ix.add(first, ix.ONE))
            if forward
            else ix.compare("<", point, first)
        )
        return RangeGrowth(
            dim=dim, first=first, before=before, single=True,
            early=ix.compare("==", point, first), later=later,
        )  # fmt: skip
    if not space.implies(Domain(()), ix.compare("<=", count, ix.ZERO)):
        return None
    edge = ix.sub(fixed, shift)  # the point at which the range has become empty, or still is
    early = ix.compare("<=", point, edge) if forward else ix.compare(">=", point, edge)
    later = ix.compare(">", point, edge) if forward else ix.compare("<", point, edge)
    return RangeGrowth(dim=dim, first=first, before=before, single=False, early=early, later=later)


@dataclass(slots=True)
class RunningReduction:
    """Builds the running value of a reduction over ranges like ``range``.

    ``decay`` makes what multiplies the neighbour's value, whose point it is given. With
    ``in_loop`` the value at the first point is a point of the loop, too, which a cycle through all
    points needs; else a node of its own.
    """

    builder: NodeBuilder
    range: MovingRange
    place: int
    growth: RangeGrowth
    decay: Callable[[Rebuild, ix.Expr], Edge | None] | None = None
    in_loop: bool = False

    def nodes(self, monoid: Monoid, element: Callable[[Rebuild], Edge | None]) -> Node | None:
        """The merge with the value of each point, operands first; ``None`` where there is none.

        ``element`` builds the contribution of one element; ``monoid`` combines it with the
        neighbour's value.
        """
        builder, domain, growth = self.builder, self.builder.node.domain, self.growth
        early, later = (builder.space.restrict(domain, c) for c in (growth.early, growth.later))
        if builder.space.is_empty(later) or builder.space.is_empty(early):
            return None
        rebuild = self._rebuild("new", lambda dims: builder.space.project(later, dims), {})
        newest = element(rebuild)
        decay = self.decay and self.decay(rebuild, growth.before)
        if newest is None or builder.type_of(newest).weak or (self.decay and not decay):
            return None
        name, type_ = builder.fresh_name("run"), builder.type_of(newest)
        placeholder = replace(builder.node, name=name, inputs=(), types=(type_,), vector=())
        builder.add(placeholder)
        first = self._first(element, monoid, early)
        if first is None or first.types != placeholder.types:
            return None
        before = Edge(source=name, entries=entries_at(domain.dims, {growth.dim: growth.before}))
        if decay is not None:
            before = read_of(builder.put("faded", binary.Multiply(), (decay, before), later))
        both = (before, newest) if decay is None else (newest, before)
        assert monoid.combine is not None
        added = builder.put("next", monoid.combine, both, later)
        own_node = growth.single and not self.in_loop
        starts = {growth.dim: growth.first} if own_node else {}
        targets = (entries_at(domain.dims, starts), identity(domain))
        inputs = (
            replace(read_of(first), guard=growth.early),
            replace(read_of(added), guard=growth.later),
        )
        del builder.nodes[name]
        merge = builder.add(replace(placeholder, op=Merge(targets=targets), inputs=inputs))
        return merge if added.types == merge.types else None

    def _first(
        self, element: Callable[[Rebuild], Edge | None], monoid: Monoid, early: Domain
    ) -> Node | None:
        """The value at the points whose range is empty, or has one element."""
        builder, growth = self.builder, self.growth
        (type_,) = next(reversed(builder.nodes.values())).types
        if not growth.single:
            value = monoid.identity(type_.dtype)
            full = Full(shape=type_.shape, value=value, dtype=type_.dtype)
            return builder.put("none", full, (), early)

        def domain_of(dims: tuple[str, ...]) -> Domain:
            outer = tuple(d for d in dims if self.in_loop or d != growth.dim)
            return builder.space.project(early, outer)

        at = {} if self.in_loop else {growth.dim: growth.first}
        edge = element(self._rebuild("first", domain_of, at))
        if edge is None:
            return None
        return builder.put("first", Copy(), (edge,), domain_of(builder.node.domain.dims))

    def _rebuild(
        self, part: str, domain_of: Callable[[tuple[str, ...]], Domain], at: dict[str, ix.Expr]
    ) -> Rebuild:
        """The clone of the operand at the newest element of the range."""
        builder, domain, dim = self.builder, self.builder.node.domain, self.growth.dim

        def newest(entry: ix.Slice) -> ix.Expr | None:
            other = classify_range(entry, dim, domain, builder.space)
            if other is None or replace(other, slice=self.range.slice) != self.range:
                return None
            end = ix.sub(entry.hi, ix.ONE) if isinstance(self.range, Prefix) else entry.lo
            return substitute(end, at)

        return Rebuild(builder, dim, self.place, part, False, newest, domain_of, at)


def step_builder(graph: Graph, space: Space, node: Node, dim: str) -> NodeBuilder:
    """A builder of nodes that compute the points of a node in order along a dimension."""
    steps = replace(node, vector=tuple(d for d in node.vector if d != dim))
    return NodeBuilder(graph=graph, space=space, node=steps)


def running_value(
    graph: Graph, target: RangeReduction, space: Space, *, in_loop: bool
) -> tuple[Node, ...] | None:
    """Nodes that compute the points of the reduction in order; the last has its name.

    ``None`` where the range does not grow by one element from point to point.
    """
    node, dim = target.node, target.dim
    entry = next(operand_slices(graph, target.edge, target.place))
    growth = range_growth(target.range, entry, dim, node.domain, space)
    if growth is None or node.op.monoid is None or node.op.monoid.combine is None:
        return None
    builder = step_builder(graph, space, node, dim)
    running = RunningReduction(
        builder=builder, range=target.range, place=target.place, growth=growth, in_loop=in_loop
    )
    try:
        merge = running.nodes(node.op.monoid, lambda rebuild: _element(target, rebuild))
        if merge is None:
            return None
        result = finish_reduction(builder, target, builder.put("held", Copy(), (merge,)))
    except OperandError:
        return None
    return builder.finish(result)


def _element(target: RangeReduction, rebuild: Rebuild) -> Edge | None:
    """The contribution of one element of the range to the reduction."""
    builder, op = rebuild.builder, target.node.op
    assert isinstance(op, Reduction)
    element = rebuild.edge(target.edge)
    if element is None:
        return None
    home = rebuild.domain_of(target.node.domain.dims)
    axes = axes_of(op.axes, target.ndim)
    others = tuple(a - (a > target.axis) for a in axes if a != target.axis)
    if others:
        row = type(op)(axes=others)
        element = read_of(builder.put(f"row.{rebuild.part}", row, (element,), home))
    given, dtype = builder.type_of(element).dtype, target.node.types[0].dtype
    assert op.monoid is not None
    wide = dtype if op.monoid.exact else dtype.wide
    if given != wide:
        cast = unary.Cast(dtype=wide)
        element = read_of(builder.put(f"cast.{rebuild.part}", cast, (element,), home))
    return element
