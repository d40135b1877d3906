"""Running recurrences: what the points of a loop contribute to a reduction, combined so far.

    %s.none = full 0                                           : [i] f32[8]
    %s.past = merge %s.none when t == 0, %s.now[i, t-1] when t >= 1 : [i, t] f32[8]
    %s.now  = add %s.past, %s.each                             : [i, t] f32[8]

The value at the last point is the result. In a nest of loops, a point at which all inner loops
begin continues with the value after the inner loops of the previous point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.source import Full
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at

CombinedWith = Callable[[Node], tuple[Op, tuple[Node, ...]]]
"""The operator, with its operands, that combines a previous value with what a point contributes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEnds:
    """A loop as expressions: its first and last point, and the neighbours of a point."""

    dim: str
    forward: bool
    first: ix.Expr
    last: ix.Expr
    before: ix.Expr
    after: ix.Expr

    @classmethod
    def along(cls, dim: str, points: ix.Slice, *, forward: bool = True) -> LoopEnds:
        """The ends of a loop over some points, upwards or downwards."""
        low, high, point = points.lo, ix.sub(points.hi, ix.ONE), ix.Sym(dim)
        down, up = ix.sub(point, ix.ONE), ix.add(point, ix.ONE)
        if forward:
            return cls(dim=dim, forward=True, first=low, last=high, before=down, after=up)
        return cls(dim=dim, forward=False, first=high, last=low, before=up, after=down)

    @property
    def is_first(self) -> ix.Expr:
        """The condition for a point to be the first."""
        return ix.compare("==", ix.Sym(self.dim), self.first)

    @property
    def is_later(self) -> ix.Expr:
        """The condition for a point to have a predecessor."""
        return self._above(self.first) if self.forward else self._below(self.first)

    @property
    def has_next(self) -> ix.Expr:
        """The condition for a point to have a successor."""
        return self._below(self.last) if self.forward else self._above(self.last)

    def _above(self, end: ix.Expr) -> ix.Expr:
        return ix.compare(">=", ix.Sym(self.dim), ix.add(end, ix.ONE))

    def _below(self, end: ix.Expr) -> ix.Expr:
        return ix.compare("<", ix.Sym(self.dim), end)


def running_recurrence(
    builder: NodeBuilder,
    each: Node,
    type_: TensorType,
    start: Scalar,
    nest: Sequence[LoopEnds],
    combined: CombinedWith,
) -> Node:
    """Build the values of ``type_`` at each point of some loops, outermost first; returns them.

    ``each`` is what a point contributes; its domain has the dimensions of the loops besides those
    of the builder's node. ``start`` is what every element begins with.
    """
    full = Full(shape=type_.shape, value=start, dtype=type_.dtype)
    none = builder.put("none", full)
    dims = each.domain.dims
    now = replace(each, name=builder.fresh_name("now"), types=(type_,))
    targets = [entries_at(dims, {ends.dim: ends.first for ends in nest})]
    inputs = [replace(read_of(none), guard=ix.conjunction(*(ends.is_first for ends in nest)))]
    for k, ends in reversed([*enumerate(nest)]):
        inner = nest[k + 1 :]
        source = _after_inner_loops(builder, now, ends, inner) if inner else now
        entries = entries_at(source.domain.dims, {ends.dim: ends.before})
        guard = ix.conjunction(ends.is_later, *(e.is_first for e in inner))
        inputs.append(Edge(source=source.name, entries=entries, guard=guard))
        targets.append(entries_at(dims, {e.dim: e.first for e in inner} | {ends.dim: ends.after}))
    merge = Merge(targets=tuple(targets))
    past = replace(now, name=builder.fresh_name("past"), op=merge, inputs=tuple(inputs))
    op, operands = combined(builder.add(past))
    return builder.add(replace(now, op=op, inputs=tuple(map(read_of, operands))))


def _after_inner_loops(
    builder: NodeBuilder, now: Node, ends: LoopEnds, inner: Sequence[LoopEnds]
) -> Node:
    """The value after the inner loops, where the loop around them has a next point."""
    inside = {e.dim: e.last for e in inner}
    domain = Domain(
        tuple(d for d in now.domain.dims if d not in inside),
        ix.conjunction(builder.node.domain.where, ends.has_next),
    )
    edge = Edge(source=now.name, entries=entries_at(now.domain.dims, inside))
    return builder.put(f"over_{ends.dim}", Copy(), (edge,), domain, now.types)
