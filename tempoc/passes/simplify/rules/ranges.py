"""What is known of integers before a run: their values, or between which numbers they lie.

Positions are mostly made for the purpose: `arange(n) % 4`, `clip(i, 0, n - 1)`, what `argsort`
says. Where they are numbers they are computed, by the meaning of the operators; else each operator
says between what its results lie if its operands lie between this and that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from tempoc.base.arrays import np
from tempoc.base.cost_model import MODEL
from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.definition.operator import Array, Op, OperandError
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.search import ArgMax, ArgSort
from tempoc.ops.random.draws import Categorical, Integers, Permutation
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.source import Arange, IndexValue, Literal
from tempoc.passes.simplify.rules.pattern import Match
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

_LIMIT = 2**31

End = ix.Expr | None
"""An end of a range, over bounds; ``None`` where there is none."""
NumberRange = tuple[End, End]
"""The least and the greatest number."""
_ANY: NumberRange = (None, None)


def known_value(v: Match, edge: Edge) -> Array | None:
    """The elements of what a read gives, if no data decide them and they are few."""
    return _known(v, edge, {})


def _known(v: Match, edge: Edge, values: dict[str, tuple[Array, ...] | None]) -> Array | None:
    if edge.source not in values:
        values[edge.source] = None
        values[edge.source] = _known_results(v, v.nodes[edge.source], values)
    results = values[edge.source]
    return None if results is None or edge.entries else results[edge.out]


def _known_results(
    v: Match, node: Node, values: dict[str, tuple[Array, ...] | None]
) -> tuple[Array, ...] | None:
    op = node.op
    plain = op.moves or op.elementwise or (op.cheap and not node.inputs)
    if node.domain.dims or not plain or op.checks or not all(map(_is_small, node.types)):
        return None
    known: list[Array] = []
    for edge in node.inputs:
        value = _known(v, edge, values)
        if value is None:
            return None
        known.append(value)
    types = tuple(v.nodes[e.source].types[e.out] for e in node.inputs)
    try:
        return op.evaluate(op.settle(tuple(known), types), {})
    except (OperandError, KeyError):  # a bound that is given at run time
        return None


def _is_small(type_: TensorType) -> bool:
    count = ix.product(type_.shape)
    return isinstance(count, ix.Const) and count.value <= MODEL.known_positions


@dataclass(frozen=True, slots=True)
class NumberRanges:
    """Ranges of integers at all points of a tensor; ``ranges`` has those that were looked at."""

    v: Match
    ranges: dict[str, NumberRange] = field(default_factory=dict)

    def within(self, edge: Edge, n: ix.Expr) -> bool:
        """Whether all of a read are proved to be positions of an axis of extent ``n``."""
        low, high = self.of(edge)
        named = [s for e in (low, high, n) if e is not None for s in symbols(e)]
        if low is None or high is None or any(map(self.v.graph.universe.is_dim, named)):
            return False
        inside = ix.conjunction(ix.compare(">=", low, ix.ZERO), ix.compare("<", high, n))
        return self.v.facts.holds(inside)

    def of(self, edge: Edge) -> NumberRange:
        """The range of what a read gives, at any point."""
        node = self.v.nodes[edge.source]
        if node.types[edge.out].dtype not in (DType.I32, DType.BOOL):
            return _ANY
        if node.name not in self.ranges:
            self.ranges[node.name] = _ANY  # as long as nothing else is known of a cycle
            self.ranges[node.name] = self._of(node)
        return self.ranges[node.name]

    def _of(self, node: Node) -> NumberRange:
        op = node.op
        match op:
            case Literal() if isinstance(op.value, int):
                return _at(ix.Const(int(op.value)))
            case IndexValue() if op.dtype is DType.I32:
                return _at(op.expr)
            case Arange() if op.step > 0 and op.dtype is DType.I32:
                return op.start, ix.sub(op.stop, ix.ONE)
            case ArgMax() if op.axis is not None:
                return self._position(node.inputs[0], op.axis)
            case ArgSort():
                return self._position(node.inputs[0], op.axis)
            case Categorical():
                return self._position(node.inputs[1], -1)
            case Integers():
                return op.low, ix.sub(op.high, ix.ONE)
            case Permutation():
                return ix.ZERO, ix.sub(op.n, ix.ONE)
            case Merge() | Copy():
                return _joined([self.of(e) for e in node.inputs])
            case Select():
                return _joined([self.of(e) for e in node.inputs[1:]])
        if node.types[0].dtype is DType.BOOL:
            return ix.ZERO, ix.ONE
        if op.moves or isinstance(op, unary.Cast):
            return _joined([self.of(e) for e in node.inputs])
        if op.picks:
            return self.of(node.inputs[0])
        return self._computed(op, node)

    def _position(self, searched: Edge, axis: int) -> NumberRange:
        shape = self.v.type_of(searched).shape
        return ix.ZERO, ix.sub(shape[axis_of(axis, len(shape))], ix.ONE)

    def _computed(self, op: Op, node: Node) -> NumberRange:
        if not isinstance(op, binary.Nary):
            return _ANY
        ranges = [self.of(e) for e in node.inputs]
        match op:
            case binary.Minimum():
                return _minimum(*ranges)
            case binary.Maximum():
                return _maximum(*ranges)
            case binary.Clip():
                x, low, high = ranges
                return _minimum(_maximum(x, low), high)
            case binary.Remainder():
                least, greatest = ranges[1]
                if not isinstance(least, ix.Const) or least.value <= 0 or greatest is None:
                    return _ANY
                return ix.ZERO, ix.sub(greatest, ix.ONE)
            case binary.Add() | binary.Subtract() | binary.Multiply() | binary.FloorDivide():
                return _arithmetic(op, ranges)
        return _ANY


def _at(e: ix.Expr) -> NumberRange:
    return e, e


def _joined(ranges: list[NumberRange]) -> NumberRange:
    lows, highs = [r[0] for r in ranges], [r[1] for r in ranges]
    low = [e for e in lows if e is not None]
    high = [e for e in highs if e is not None]
    least = ix.minimum(*low) if low and len(low) == len(lows) else None
    return least, ix.maximum(*high) if high and len(high) == len(highs) else None


def _minimum(a: NumberRange, b: NumberRange) -> NumberRange:
    high = [e for e in (a[1], b[1]) if e is not None]
    return _joined([a, b])[0], ix.minimum(*high) if high else None


def _maximum(a: NumberRange, b: NumberRange) -> NumberRange:
    low = [e for e in (a[0], b[0]) if e is not None]
    return ix.maximum(*low) if low else None, _joined([a, b])[1]


def _arithmetic(op: Op, ranges: list[NumberRange]) -> NumberRange:
    """Of numbers alone, as these may wrap around."""
    ends = [e for r in ranges for e in r]
    values = [e.value for e in ends if isinstance(e, ix.Const)]
    if len(values) != len(ends):
        return _ANY
    divides = isinstance(op, binary.FloorDivide)
    if divides and values[2] <= 0 <= values[3]:
        return _ANY
    corners = product(values[:2], values[2:])
    corner_values = [int(op.evaluate((np.array(a), np.array(b)), {})[0]) for a, b in corners]
    if not all(-_LIMIT <= x < _LIMIT for x in corner_values):
        return _ANY
    return ix.Const(min(corner_values)), ix.Const(max(corner_values))
