"""Rules for state that changes at one place, which data choose: it is written in place.

``where(arange(n) == j, new, old)`` computes all elements of a table to change one of them, and so
does ``old + one_hot(j, n) * change``. Where the table is state of a recurrence, ``old`` being what
the step before left, it becomes ``put``, which takes as long whatever the size of the table. So
are sums by position added to it where they lie. A sum of what is at one place reads that place.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import Shape, axes_of, axis_of, without
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.ops.indexing.put import Put, PutIntoSum
from tempoc.ops.indexing.scatter import AddAt, ScatterAdd
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims, Squeeze
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import Arange, IndexValue
from tempoc.passes.analysis.summands import EXACT
from tempoc.passes.simplify.rules.one_place import (
    Mask,
    Place,
    excluded_place,
    hot_places,
    mask_of,
)
from tempoc.passes.simplify.rules.pattern import (
    Kind,
    Match,
    Producer,
    Rewrite,
    RewriteRule,
    rule,
)
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic import expr as ix

_NEUTRAL: dict[Kind, Scalar] = {binary.Add: 0, binary.Subtract: 0, binary.Multiply: 1}
"""What changes nothing as the second operand."""
_CHANGING: tuple[Kind, ...] = (AddAt, Put, PutIntoSum, Select, Copy, Merge, *_NEUTRAL)
_ARITHMETIC: dict[Kind, Callable[..., Scalar]] = {
    binary.Add: operator.add,
    binary.Subtract: operator.sub,
    binary.Multiply: operator.mul,
    unary.Negative: operator.neg,
}


@dataclass(frozen=True, slots=True)
class _Row:
    """The row at a place of the matched node's result: a position on the axis that is there.

    ``inside``: whether it is that of the place, which may be none of the axis.
    """

    v: Match
    place: Place
    position: Edge
    inside: Edge

    @property
    def axis(self) -> int:
        """The axis of the result."""
        return self.v.result.ndim - self.place.back

    def of(self, edge: Edge) -> Edge:
        """The row of an operand, which broadcasts; as it is if it lacks the axis."""
        shape = self.v.type_of(edge).shape
        axis = len(shape) - self.place.back
        if axis < 0:
            return edge
        if shape[axis] == ix.ONE != self.place.n:
            return self.v.make(Squeeze(axes=(axis,)), edge)
        return _taken(self.v, edge, axis, self.position)

    def lacks(self, edge: Edge) -> bool:
        """Whether all rows of an operand are the same."""
        shape = self.v.type_of(edge).shape
        axis = len(shape) - self.place.back
        return axis < 0 or shape[axis] == ix.ONE != self.place.n

    def joined(self, condition: Edge, others: list[Edge]) -> Edge:
        """The conjunction of conditions."""
        for other in others:
            condition = self.v.make(binary.And(), condition, other)
        return condition

    def mask(self, place: Place) -> Edge:
        """Where another place is in the row; of the row's own axis, whether it is this row."""
        if place.back == self.place.back:
            return self.v.make(binary.Equal(), self.position, place.idx)
        edge = self.v.make(binary.Equal(), self.v.make(Arange(stop=place.n)), place.idx)
        for _ in range(place.back - (place.back > self.place.back) - 1):
            edge = self.v.make(ExpandDims(axis=self.v.type_of(edge).ndim), edge)
        return edge


def _taken(v: Match, edge: Edge, axis: int, position: Edge) -> Edge:
    """What stands at a position of an axis that is known to be there."""
    parts: list[IndexPart] = [(ix.ZERO, n, 1) for n in v.type_of(edge).shape]
    parts[axis] = "tensor"
    return v.make(SpatialIndex(entries=tuple(parts), sure=True), edge, position)


def _longest_first(places: Iterable[Place]) -> list[Place]:
    """Places, those along longer axes before others."""
    known = {p: p.n.value if isinstance(p.n, ix.Const) else math.inf for p in places}
    return sorted(known, key=known.__getitem__, reverse=True)


def _row(v: Match, place: Place, shape: Shape | None = None) -> _Row | None:
    """The row at a place of the result, or of a tensor of another shape."""
    shape = v.result.shape if shape is None else shape
    if place.back > len(shape):
        return None
    is_there = shape[-place.back] == place.n
    if not is_there or not v.facts.holds(ix.compare(">=", place.n, ix.ONE)):
        return None
    zero = v.make(IndexValue(expr=ix.ZERO))
    last = v.make(IndexValue(expr=ix.sub(place.n, ix.ONE)))
    position = v.make(binary.Clip(), place.idx, zero, last)
    return _Row(v, place, position, v.make(binary.Equal(), position, place.idx))


@rule("state written at one place", Select)
def _written(v: Match, _: Select) -> Rewrite | None:
    c, a, b = v.node.inputs
    if _is_state(v, b):
        return _selected(v, mask_of(v, c), a, b)
    if _is_state(v, a) and (excluded := excluded_place(v, c)) is not None:
        return _selected(v, Mask((excluded,)), b, a)
    return None


def _selected(v: Match, mask: Mask, new: Edge, old: Edge) -> Rewrite | None:
    row = next((_row(v, place) for place in _longest_first(mask.places)), None)
    if row is None:
        return None
    others = [row.mask(p) for p in mask.places if p != row.place]
    holds = row.joined(row.inside, [*map(row.of, mask.rest), *others])
    value = v.make(Select(), holds, row.of(new), row.of(old))
    return Rewrite((old, row.position, value), Put(axis=row.axis, sure=True))


@rule("state written under a condition", Select)
def _written_or_not(v: Match, _: Select) -> Rewrite | None:
    """State, changed at one place or not at all."""
    c, a, b = v.node.inputs
    put = v.producer(a, Put)
    if put is None or not put.op.sure or put.edges[0] != b:
        return None
    if v.type_of(c).shape or not _is_state(v, b):
        return None
    old, position, value = put.edges
    row = _taken(v, old, axis_of(put.op.axis, v.result.ndim), position)
    return Rewrite((old, position, v.make(Select(), c, value, row)), put.op)


@rule("a sum of what is at one place", Sum, of=(Select,), exact=False)
def _at_one_place(v: Match, op: Sum, inner: Producer[Select]) -> Rewrite | None:
    """`sum(where(arange(n) == j, x, 0))` is the row of `x`, or 0 if there is none."""
    condition, a, b = inner.edges
    operand = v.operand(0)
    axes = axes_of(op.axes, operand.ndim)
    if v.number(b) != 0 or op.keepdims or operand.dtype is not v.result.dtype:
        return None
    mask = mask_of(v, condition)
    for place in _longest_first(p for p in mask.places if operand.ndim - p.back in axes):
        is_long = v.facts.holds(ix.compare(">=", place.n, ix.Const(MODEL.long_range)))
        row = _row(v, place, operand.shape) if is_long else None
        if row is None or row.lacks(a):
            continue
        others = [row.mask(p) for p in mask.places if p != place]
        holds = row.joined(row.inside, [*map(row.of, mask.rest), *others])
        value = v.make(Select(), holds, row.of(a), row.of(b))
        axis = operand.ndim - place.back
        value = v.make(BroadcastTo(shape=without(operand.shape, (axis,))), value)
        left = tuple(k - (k > axis) for k in axes if k != axis)
        return Rewrite((value,), replace(op, axes=left)) if left else Rewrite((value,))
    return None


@rule("state changed at one place", *_NEUTRAL, exact=False)
def _changed(v: Match, op: Op) -> Rewrite | None:
    """A change by what depends on ``one_hot``, which elsewhere is none, or NaN after an overflow.

    That is ``old + one_hot(j, n) * x``, but also ``old * (1 - one_hot(j, n))``.
    """
    both = (v.node.inputs, v.node.inputs[::-1])[: 2 if op.commutative else 1]
    old, change = next((pair for pair in both if _is_state(v, pair[0])), (None, None))
    if old is None or change is None or v.dtype_of(change) is not v.result.dtype:
        return None
    for place in _longest_first(_factors(v, change)):
        row = _row(v, place)
        there = None if row is None else _pointwise(row, change, row.inside)
        if row is not None and there is not None:
            return _changed_row(v, op, (old, change), row, there)
    return None


@rule("a sum by position added to state", binary.Add, exact=False)
def _added(v: Match, _: binary.Add) -> Rewrite | None:
    """Also where the state is added in another shape than the sum is made in."""
    if not v.is_uniform() or v.result.dtype not in EXACT:
        return None
    for old, change in (v.node.inputs, v.node.inputs[::-1]):
        shaped = v.producer(change, Reshape, own=True)
        made = v.producer(shaped.edges[0] if shaped else change, ScatterAdd, own=True)
        if made is None or not _is_state(v, old):
            continue
        values, positions = made.edges
        if not shaped:
            return Rewrite((old, positions, values), AddAt(axis=made.op.axis, sure=made.op.sure))
        flat = v.make(Reshape(shape=made.node.types[0].shape), old)
        op = AddAt(axis=made.op.axis, sure=made.op.sure)
        return Rewrite((v.make(op, flat, positions, values),), Reshape(shape=v.result.shape))
    return None


def _changed_row(
    v: Match, op: Op, both: tuple[Edge, Edge], row: _Row, there: Edge
) -> Rewrite | None:
    """State and its change, which in a row is ``there``."""
    old, change = both
    before = row.of(old)
    value = v.make(op, before, there)
    if _elsewhere(v, change) == _NEUTRAL[type(op)]:
        return Rewrite((old, row.position, value), Put(axis=row.axis, sure=True))
    if not (_is_product(v, change) and isinstance(op, binary.Add | binary.Subtract)):
        return None
    other = _pointwise(row, change, v.make(binary.NotEqual(), row.position, row.position))
    if other is None or not _is_large(v, MODEL.put_into_sum_elements):
        return None
    other = v.make(BroadcastTo(shape=v.type_of(before).shape), other)
    if isinstance(op, binary.Subtract):
        other = v.make(unary.Negative(), other)
    return Rewrite((old, other, row.position, value), PutIntoSum(axis=row.axis))


def _is_state(v: Match, edge: Edge) -> bool:
    """Whether a tensor of the result's type is state, maybe changed already, which the node makes.

    That it does is looked for among what changes or chooses state.
    """
    if v.type_of(edge) != v.result or not _is_large(v, MODEL.put_elements):
        return False
    node = v.nodes[edge.source]
    while isinstance(node.op, AddAt | Put | PutIntoSum):
        node = v.nodes[node.inputs[0].source]
    if not isinstance(node.op, Merge):
        return False
    worklist, known = [node.name], {node.name}
    while worklist:
        for source in (e.source for e in v.nodes[worklist.pop()].inputs):
            if source == v.node.name:
                return True
            if source not in known and isinstance(v.nodes[source].op, _CHANGING):
                known.add(source)
                worklist.append(source)
    return False


def _is_large(v: Match, least: int) -> bool:
    count = ix.product(v.result.shape)
    return not isinstance(count, ix.Const) or count.value >= least


# ---------------------------------------------------------------- functions of `one_hot`


def _factors(v: Match, edge: Edge) -> list[Place]:
    """The places of the ``one_hot``s that arithmetic starts from."""
    if places := hot_places(v, edge):
        return places
    p = v.producer(edge, *_ARITHMETIC)
    return [place for e in p.edges for place in _factors(v, e)] if p else []


def _pointwise(row: _Row, edge: Edge, hot: Edge) -> Edge | None:
    """The row of arithmetic in which the ``one_hot`` of the row's place is ``hot``, a bool.

    ``None`` if another operand has the axis.
    """
    v = row.v
    places = hot_places(v, edge)
    if row.place in places:
        holds = row.joined(hot, [row.mask(p) for p in places if p != row.place])
        return v.make(unary.Cast(dtype=v.dtype_of(edge)), holds)
    if p := v.producer(edge, *_ARITHMETIC):
        parts = [part for e in p.edges if (part := _pointwise(row, e, hot))]
        return v.make(p.op, *parts) if len(parts) == len(p.edges) else None
    return row.of(edge) if row.lacks(edge) else None


def _elsewhere(v: Match, edge: Edge) -> Scalar | None:
    """The number that arithmetic on ``one_hot``s yields where these are 0; ``None``: not known."""
    if hot_places(v, edge):
        return 0
    p = v.producer(edge, *_ARITHMETIC)
    if p is None:
        return v.number(edge)
    numbers = [_elsewhere(v, e) for e in p.edges]
    if isinstance(p.op, binary.Multiply) and 0 in numbers and not v.dtype_of(edge).is_float:
        return 0
    known = [n for n in numbers if n is not None and math.isfinite(n)]
    return _ARITHMETIC[type(p.op)](*known) if len(known) == len(numbers) else None


def _is_product(v: Match, edge: Edge) -> bool:
    """Whether one of the factors, at least, is a ``one_hot``."""
    if p := v.producer(edge, binary.Multiply):
        return any(_is_product(v, e) for e in p.edges)
    return bool(hot_places(v, edge))


PLACES: tuple[RewriteRule, ...] = (
    _written, _written_or_not, _at_one_place, _changed, _added,
)  # fmt: skip
